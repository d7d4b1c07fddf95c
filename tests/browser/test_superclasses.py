"""Superclasses in the form: proposed, changed by hand in the editor, loaded, saved, and trained with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from explorer.server.routes import PREFIX
from tests.browser.conftest import Site
from tests.browser.pages import PHONE, visit
from tests.browser.sidebar import FORM, choose, config, images, leave_queue, named, train, unfold
from tests.data.world import write_tree
from trainers.image_text import class_groups
from trainers.parameters import Choice
from trainers.retrieval.probe_results import labelled_probe_of
from trainers.runs import RunFolder

CLASSES = ["animal_cat", "animal_dog", "plant_oak", "plant_rose"]
HOSTILE = "<img src=x onerror=alert(1)> church"
LANDMARKS = [
    *(f"{place} {kind}" for kind in ("church", "bridge", "lake", "mountain") for place in ("old", "stone", "royal")),
    HOSTILE,
]
KINDS = {"church", "bridge", "lake", "mountain"}
WIDER = """(node) => [...node.querySelectorAll("*")]
  .filter((inner) => !inner.classList.contains("rs-unseen"))
  .map((inner) => [inner.className, inner.getBoundingClientRect().right])
  .filter(([, right]) => right > node.getBoundingClientRect().right + 1)"""
"""What reaches out of a node on its right."""


def opened(page: Page, source: Path, classes: int) -> Locator:
    """The editor, opened on a folder."""
    form = page.locator(FORM)
    images(page, str(source))
    expect(form).to_contain_text(f"Classes: {classes} ")
    unfold(page)
    edit(page)
    return page.get_by_role("dialog", name="Editor of superclasses")


def edit(page: Page) -> None:
    page.locator(FORM).get_by_role("button", name="Group and change them by hand").click()
    expect(page.get_by_role("dialog", name="Editor of superclasses")).to_be_visible()


def act(editor: Locator, name: str) -> None:
    editor.get_by_role("button", name=name, exact=True).click()


def group(editor: Locator, name: str) -> Locator:
    return editor.get_by_role("region", name=f"Group {name}", exact=True)


def group_names(editor: Locator) -> list[str]:
    return list(editor.locator("input.rs-groupname").evaluate_all("(inputs) => inputs.map((input) => input.value)"))


def classes_of(editor: Locator, name: str) -> set[str]:
    """Classes of a group, which are drawn once it is on screen."""
    card = group(editor, name)
    card.scroll_into_view_if_needed()
    expect(card.locator(".rs-classchip").first).to_be_visible()
    return {*card.locator(".rs-classchip").all_text_contents()}


def said(editor: Locator, text: str) -> None:
    expect(editor.get_by_role("status")).to_contain_text(text)


def use(page: Page, editor: Locator) -> None:
    act(editor, "Use these groups")
    expect(editor).to_be_hidden()


def grouped_by_words(editor: Locator, count: int) -> None:
    editor.get_by_label("Similar in").select_option("words")
    editor.get_by_role("spinbutton", name="Groups", exact=True).fill(str(count))
    act(editor, "Group similar names")
    said(editor, f"Made {count} groups of similar names.")


def test_landmarks_are_grouped_reviewed_and_trained_with(site: Site, browser: Browser, tmp_path: Path) -> None:
    write_tree(tmp_path / "own", LANDMARKS, 4)
    with visit(browser, site, site.url) as page:
        editor = opened(page, tmp_path / "own", len(LANDMARKS))
        assert group_names(editor) == ["unsorted"]
        grouped_by_words(editor, 4)
        for name in group_names(editor):
            (kind,) = {each.split()[-1] for each in classes_of(editor, name)}
            field = editor.get_by_label(f"Name of the group {name}")
            field.fill(kind)
            field.press("Enter")
        assert {*group_names(editor)} == KINDS and HOSTILE in classes_of(editor, "church")
        act(editor, "Undo")
        assert len({*group_names(editor)} & KINDS) == 3
        act(editor, "Redo")
        assert {*group_names(editor)} == KINDS
        editor.get_by_label("Choose the group church").check()
        act(editor, "Split")
        said(editor, "Split church in 2.")
        assert len(group_names(editor)) == 5
        for name in {*group_names(editor)} - KINDS:
            editor.get_by_label(f"Choose the group {name}", exact=True).check()
        act(editor, "Merge")
        assert len(group_names(editor)) == 4 and {*group_names(editor)} >= {"bridge", "lake", "mountain"}
        (churches,) = {*group_names(editor)} - KINDS
        assert classes_of(editor, churches) == {name for name in LANDMARKS if name.endswith("church")}
        moved_by_keyboard_and_mouse(page, editor, churches)
        dropped_and_restored(editor)
        editor.get_by_label("Groups above: names").fill("human-made, natural")
        act(editor, "Put a level above")
        said(editor, "Put ")
        into_two(page, editor, {churches, "bridge"})
        with page.expect_download() as saved:
            act(editor, "Download as CSV")
        table = saved.value.path().read_text()
        use(page, editor)
        form = page.locator(FORM)
        expect(form).to_contain_text("Classes: 12 › 4 › 2 (class › superclass › top).")
        expect(form).to_contain_text(f"Dropped, with 4 images: {HOSTILE}.")
        run = train(page)
        leave_queue(page)
        loaded_again(page, editor, tmp_path / "saved.csv", table)
    kept = config(site, run)["data"]["hierarchy"]
    assert kept["name"] == "mapping" and kept["parameters"]["table"].splitlines() == table.splitlines()
    trained(RunFolder.open(site.root, run), tmp_path / "trained", churches)


def moved_by_keyboard_and_mouse(page: Page, editor: Locator, churches: str) -> None:
    """Move a class with the keyboard alone, and back by dragging it."""
    chip = group(editor, "lake").get_by_role("button", name="old lake")
    chip.focus()
    page.keyboard.press("m")
    expect(editor.get_by_label("Move to")).to_be_focused()
    page.keyboard.type("mountain")
    page.keyboard.press("Enter")
    said(editor, "Moved old lake to mountain.")
    assert "old lake" in classes_of(editor, "mountain")
    group(editor, "mountain").get_by_role("button", name="old lake").drag_to(group(editor, "lake"))
    said(editor, "Moved old lake to lake.")
    assert "old lake" in classes_of(editor, "lake")
    field = editor.get_by_label("Name of the group lake")
    field.fill("mountain")
    field.press("Enter")
    expect(editor.get_by_role("alert")).to_contain_text("There is a group “mountain” already.")
    expect(field).to_have_value("lake")
    assert churches in group_names(editor)


def dropped_and_restored(editor: Locator) -> None:
    """Drop two classes, take that back with the keyboard, and drop one."""
    group(editor, "bridge").get_by_role("button", name="old bridge").click()
    group(editor, "bridge").get_by_role("button", name="stone bridge").click()
    act(editor, "Drop")
    said(editor, "Dropped 2 classes. 8 images left out.")
    expect(editor).to_contain_text("2 classes dropped with 8 images")
    editor.press("Control+z")
    said(editor, "Taken back: Dropped 2 classes.")
    assert len(classes_of(editor, "bridge")) == 3
    editor.get_by_role("button", name=HOSTILE).press("Delete")
    said(editor, "4 images left out.")
    editor.page.keyboard.press("Control+z")
    said(editor, f"Taken back: Dropped {HOSTILE}.")
    editor.page.keyboard.press("Control+Shift+z")
    said(editor, f"Made again: Dropped {HOSTILE}.")


def into_two(page: Page, editor: Locator, made: set[str]) -> None:
    """Put the groups that people made under human-made, the others under natural."""
    for name in ("bridge", "lake", "mountain", *(made - {"bridge"})):
        top = "human-made" if name in made else "natural"
        chip = editor.locator(".rs-classchip", has_text=name).filter(visible=True)
        chip.first.click()
        editor.get_by_label("Move to").fill(top)
        act(editor, "Move")
    assert classes_of(editor, "human-made") == made and classes_of(editor, "natural") == {"lake", "mountain"}


def loaded_again(page: Page, editor: Locator, file: Path, table: str) -> None:
    """Open the table that was saved, with a class in two groups and one without a row."""
    rows = [row for row in table.splitlines() if not row.startswith("royal lake,")]
    file.write_text("\n".join([*rows, "old mountain,lake,natural,no"]))
    edit(page)
    editor.locator("input[type=file]").set_input_files(file)
    said(editor, "Opened the table. Dropped, with several superclasses: old mountain.")
    said(editor, "In the group unsorted, without a row: royal lake.")
    file.write_text("red,warm\nblue,cold\n")
    editor.locator("input[type=file]").set_input_files(file)
    expect(editor.get_by_role("alert")).to_contain_text("No row of this table begins with the name of a class")
    editor.press("Escape")
    expect(editor).to_be_hidden()


def trained(queued: RunFolder, root: Path, churches: str) -> None:
    """Train a few steps with what the page asked for: the levels are those of the editor, without what is dropped."""
    few = queued.config.changed(steps=2, minutes=None, threads=1)
    folder = RunFolder.create(root, few)
    subprocess.run([sys.executable, "-m", "trainers.worker", str(folder.path)], check=True, timeout=240)
    assert folder.state().phase == "finished"
    tree = labelled_probe_of(folder).hierarchy
    assert tree.levels == ("class", "superclass", "top")
    assert HOSTILE not in tree.names[0] and {*tree.names[1]} == {churches, "bridge", "lake", "mountain"}
    assert {*tree.names[2]} == {"human-made", "natural"}


def test_superclasses_of_names_are_changed_on_a_phone(site: Site, browser: Browser, tmp_path: Path) -> None:
    write_tree(tmp_path / "own", CLASSES)
    with visit(browser, site, site.url, size=PHONE, touch=True) as page:
        page.locator("#rs-sidebar .toggle-button").click()
        images(page, str(tmp_path / "own"))
        form = page.locator(FORM)
        expect(form).to_contain_text("Classes: 4 (class).")
        unfold(page)
        choose(page, "Superclasses", "Parts of names")
        expect(form).to_contain_text("Classes: 4 › 2 (class › group).")
        edit(page)
        editor = page.get_by_role("dialog", name="Editor of superclasses")
        assert classes_of(editor, "animal") == {"animal_cat", "animal_dog"}
        for name in ("animal_cat", "plant_rose"):
            editor.get_by_role("button", name=name).click()
        tick = group(editor, "plant").get_by_role("checkbox").first
        tick.check()
        foot = editor.locator(".rs-editorfoot").bounding_box()
        assert foot and foot["height"] < PHONE[1] / 4, "what is chosen can be seen above what is done with it"
        assert editor.evaluate(WIDER) == []
        tick.uncheck()
        editor.get_by_label("Move to").fill("soft, pretty")
        act(editor, "Move")
        assert editor.evaluate(WIDER) == []
        use(page, editor)
        expect(form).to_contain_text("Classes: 4 › 3 (class › group).")
        expect(form.get_by_role("list", name="Superclasses with their classes")).to_contain_text(
            "soft, pretty: animal_cat, plant_rose"
        )
        expect(named(page, "Superclasses")).to_have_value("mapping")
        page.reload()  # what was made by hand is kept
        expect(form).to_contain_text("Classes: 4 › 3 (class › group).")


def test_a_text_tower_groups_names_and_its_absence_is_said(
    site: Site, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(tmp_path / "own", CLASSES)
    with visit(browser, site, site.url) as page:
        editor = opened(page, tmp_path / "own", 4)
        monkeypatch.setattr(class_groups, "TOWER", Choice(name="open_clip", parameters={"pretrained": "/none.pt"}))
        act(editor, "Group similar names")
        expect(editor.get_by_role("alert")).to_contain_text("none.pt")
        expect(editor.get_by_role("alert")).to_contain_text("by the words they share")
        assert group_names(editor) == ["unsorted"]
        monkeypatch.setattr(class_groups, "TOWER", Choice(name="tiny_clip"))
        act(editor, "Group similar names")
        said(editor, "Made 2 groups of similar names.")
        assert {*group_names(editor)} < {*CLASSES}
        use(page, editor)
        expect(page.locator(FORM)).to_contain_text("Classes: 4 › 2 (class › superclass).")


TREE = r"""async ([root, rows]) => {
  const tree = await import(`${root}/page/class_tree.js`);
  const { read } = await import(`${root}/page/class_csv.js`);
  const { csv } = await import(`${root}/common/files.js`);
  const classes = ["=a", "b,c", "d", "e"].map((name) => ({ name, images: 2 }));
  const begun = tree.treeOf(rows[0], rows.slice(1), [2, 2, 2, 2]);
  const [x, y] = begun.layers[0].groups.map(({ id }) => id);
  const refused = (change) => { try { change(); return ""; } catch (error) { return error.message; } };
  const back = (text) => tree.rowsOf(read(text, classes).tree);
  return {
    emptied: tree.rowsOf(tree.moved(begun, 0, [2, 3], x)),
    gone: tree.rowsOf(tree.dropped(begun, 0, [y])),
    fresh: tree.rowsOf(tree.movedToNew(begun, 0, [0], "new")),
    apart: tree.rowsOf(tree.split(begun, 0, x, [0, 1], [0, 1])),
    round: back(csv([[...rows[0], "reviewed"], ...tree.rowsOf(begun).slice(1).map((row) => [...row, "yes"])])),
    quoted: back("class,kind\n'=a,x\n\"b,c\",x\nd,y\ne,y\n"),
    semicolons: back("=a;x\nb,c;x\nd;y\ne;\n"),
    untouched: tree.rowsOf(begun),
    taken: refused(() => tree.renamed(begun, 0, x, "y")),
    blank: refused(() => tree.renamed(begun, 0, x, " ")),
    alone: refused(() => tree.merged(begun, 0, [x])),
    parents: refused(() => read("=a,x,t\n\"b,c\",x,u\nd,y,t\ne,y,t\n", classes)),
  };
}"""
"""Steps of the editor, without its window."""
BEGUN = [["class", "kind", "top"], ["=a", "x", "t"], ["b,c", "x", "t"], ["d", "y", "t"], ["e", "y", "t"]]
GONE = ["(dropped)", "(dropped)"]


def test_steps_make_new_trees_and_their_tables_come_back(site: Site, browser: Browser) -> None:
    with visit(browser, site, site.url) as page:
        made = page.evaluate(TREE, [f"{site.url}{PREFIX}/assets", BEGUN])
    assert made["untouched"] == BEGUN
    assert made["emptied"] == [BEGUN[0], *([name, "x", "t"] for name in ("=a", "b,c", "d", "e"))]
    assert made["gone"] == [*BEGUN[:3], ["d", *GONE], ["e", *GONE]]
    assert made["fresh"] == [BEGUN[0], ["=a", "new", "t"], *BEGUN[2:]]
    assert made["apart"] == [BEGUN[0], ["=a", "=a", "t"], ["b,c", "b,c", "t"], *BEGUN[3:]]
    assert made["round"] == BEGUN
    assert made["quoted"] == [row[:2] for row in BEGUN]
    assert made["semicolons"] == [["class", "superclass"], *(row[:2] for row in BEGUN[1:4]), ["e", "unsorted"]]
    assert made["taken"] == "There is a group “y” already. Merge the two, or use another name."
    assert made["blank"] == "A group needs a name."
    assert made["alone"] == "Two or more groups are needed to merge them."
    assert made["parents"] == "“x” has two groups above it, “t” and “u”. It needs one."
