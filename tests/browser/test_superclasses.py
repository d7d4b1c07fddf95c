"""Superclasses in the form: proposed, changed by hand in the editor, loaded, saved, and trained with."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Site
from tests.browser.pages import LOOKS, Look, downloaded, visit
from tests.browser.sidebar import FORM, choose, config, enter, images, leave_queue, named, train, unfold
from tests.data.world import write_tree
from tests.tiny import trained
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


def opened(page: Page, source: Path, classes: int, superclasses: str = "") -> Locator:
    """The editor, opened on a folder."""
    form = page.locator(FORM)
    images(page, str(source))
    expect(form).to_contain_text(f"Classes: {classes} ")
    unfold(page)
    if superclasses:
        choose(page, "Superclasses", superclasses)
        expect(form).to_contain_text("Classes: 2 › 4 (group › class).")
    return edit(page)


def edit(page: Page) -> Locator:
    page.locator(FORM).get_by_role("button", name="Group and change them by hand").click()
    editor = page.get_by_role("dialog", name="Editor of superclasses")
    expect(editor).to_be_visible()
    return editor


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


def use(editor: Locator) -> None:
    act(editor, "Use these groups")
    expect(editor).to_be_hidden()


def rename(editor: Locator, name: str, new: str) -> Locator:
    field = editor.get_by_label(f"Name of the group {name}")
    field.fill(new)
    field.press("Enter")
    return field


def test_landmarks_are_grouped_changed_and_trained_with(site: Site, browser: Browser, tmp_path: Path) -> None:
    write_tree(tmp_path / "own", LANDMARKS, 4)
    with visit(browser, site, site.at(site.finished)) as page:
        editor = opened(page, tmp_path / "own", len(LANDMARKS))
        grouped_and_named(editor)
        moved_by_keyboard_and_mouse(page, editor)
        dropped_and_restored(editor)
        table = downloaded(editor.get_by_role("button", name="Download as CSV", exact=True)).decode()
        use(editor)
        form = page.locator(FORM)
        expect(form).to_contain_text("Classes: 4 › 12 (superclass › class).")
        expect(form).to_contain_text(f"Dropped, with 4 images: {HOSTILE}.")
        run = train(page)
        leave_queue(page)
        loaded_again(page, editor, tmp_path / "saved.csv", table)
    kept = config(site, run)["data"]["hierarchy"]
    assert kept["name"] == "mapping" and kept["parameters"]["table"].splitlines() == table.splitlines()
    few = RunFolder.open(site.root, run).config.changed(steps=2, minutes=None, threads=1)
    tree = labelled_probe_of(trained(tmp_path / "trained", few)).hierarchy
    assert tree.levels == ("class", "superclass") and HOSTILE not in tree.names[0] and {*tree.names[1]} == KINDS


def grouped_and_named(editor: Locator) -> None:
    """Group by words, name the groups, take the last name back and give it again."""
    assert group_names(editor) == ["unsorted"]
    editor.get_by_label("Similar in").select_option("words")
    editor.get_by_role("spinbutton", name="Groups", exact=True).fill("4")
    act(editor, "Group similar names")
    said(editor, "Made 4 groups of similar names.")
    for name in group_names(editor):
        (kind,) = {each.split()[-1] for each in classes_of(editor, name)}
        rename(editor, name, kind)
    assert {*group_names(editor)} == KINDS and HOSTILE in classes_of(editor, "church")
    act(editor, "Undo")
    assert len({*group_names(editor)} & KINDS) == 3
    act(editor, "Redo")
    assert {*group_names(editor)} == KINDS


def moved_by_keyboard_and_mouse(page: Page, editor: Locator) -> None:
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
    field = rename(editor, "lake", "mountain")
    expect(editor.get_by_role("alert")).to_contain_text("There is a group “mountain” already.")
    expect(field).to_have_value("lake")


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


def loaded_again(page: Page, editor: Locator, file: Path, table: str) -> None:
    """Open the table that was saved, without a row for one class, and one of other classes."""
    file.write_text("\n".join(row for row in table.splitlines() if not row.startswith("royal lake,")))
    edit(page)
    editor.locator("input[type=file]").set_input_files(file)
    said(editor, "In the group unsorted, without a row: royal lake.")
    file.write_text("red,warm\nblue,cold\n")
    editor.locator("input[type=file]").set_input_files(file)
    expect(editor.get_by_role("alert")).to_contain_text("No row of this table begins with the name of a class")
    editor.press("Escape")
    expect(editor).to_be_hidden()


@LOOKS
def test_superclasses_of_names_are_changed(site: Site, browser: Browser, tmp_path: Path, look: Look) -> None:
    write_tree(tmp_path / "own", CLASSES)
    with visit(browser, site, site.at(site.finished), **look) as page:
        enter(page)
        editor, form = opened(page, tmp_path / "own", 4, "Parts of names"), page.locator(FORM)
        assert classes_of(editor, "animal") == {"animal_cat", "animal_dog"}
        for name in ("animal_cat", "plant_rose"):
            editor.get_by_role("button", name=name).click()
        editor.get_by_label("Move to").fill("soft, pretty")
        act(editor, "Move")
        assert editor.evaluate(WIDER) == []
        use(editor)
        expect(form).to_contain_text("Classes: 3 › 4 (group › class).")
        expect(form.get_by_role("list", name="Superclasses with their classes")).to_contain_text(
            "soft, pretty: animal_cat, plant_rose"
        )
        expect(named(page, "Superclasses")).to_have_value("mapping")
        page.reload()  # what was made by hand is kept
        expect(form).to_contain_text("Classes: 3 › 4 (group › class).")
