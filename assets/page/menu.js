// A menu of choices of which some are not installed: they are grey, cannot be chosen, and show on demand what to install.
// A list box under a button that keeps the focus, so keys and screen readers know it (WAI-ARIA: select-only combobox).

import { el, say } from "../common/dom.js";

let count = 0;

/** The sidebar's menu: `props` {value, name, choices: [{name, title, missing}]}, as explorer/page/menu.py hands them on;
 * `picked()` tells Gradio of a choice. */
export function mount(element, { props, picked, watch }) {
  const menu = new Menu(props.name, props.choices, (name) => {
    props.value = name;
    picked();
  });
  menu.choose(props.value);
  watch("value", () => menu.choose(props.value));
  element.querySelector(".rs-menufield").replaceChildren(menu.node);
}

class Menu {
  constructor(name, choices, picked) {
    count += 1;
    const id = `rs-menu-${count}`;
    Object.assign(this, { choices, picked, active: 0, typed: "" });
    this.label = el("span", { class: "rs-menuname", id: `${id}-name`, text: name });
    this.shown = el("span", { class: "rs-menuvalue", id: `${id}-value` });
    this.button = el("button", {
      type: "button", class: "rs-menubutton", role: "combobox", "aria-haspopup": "listbox", "aria-expanded": "false",
      "aria-controls": `${id}-list`, "aria-labelledby": `${id}-name ${id}-value`,
    }, this.shown);
    this.options = choices.map((choice, i) => this.option(choice, `${id}-${i}`, i));
    this.list = el("ul", { role: "listbox", id: `${id}-list`, "aria-labelledby": `${id}-name` }, ...this.options);
    this.how = el("p", { class: "rs-menuhow", role: "status" });
    this.popup = el("div", { class: "rs-menupopup", hidden: true }, this.list, this.how);
    this.node = el("div", { class: "rs-menubox" }, this.label, this.button, this.popup);
    this.button.addEventListener("click", () => this.open(this.popup.hidden));
    this.button.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("mousedown", (event) => event.preventDefault()); // the button keeps the focus
    document.addEventListener("pointerdown", (event) => this.node.contains(event.target) || this.open(false));
    this.node.addEventListener("focusout", (event) => event.relatedTarget && !this.node.contains(event.relatedTarget) && this.open(false));
  }

  option({ title, missing }, id, i) {
    const more = missing ? el("span", { class: "rs-menustate", text: "how to install" }) : null;
    const props = { role: "option", id, "aria-selected": "false", "aria-disabled": missing ? "true" : null, "aria-description": missing ? `Not installed. ${missing}` : null, title: missing };
    const node = el("li", props, el("span", { class: "rs-menutitle", text: title }), more);
    node.addEventListener("click", () => this.take(i));
    node.addEventListener("pointermove", () => this.at(i, false));
    return node;
  }

  choose(name) {
    const place = this.choices.findIndex((choice) => choice.name === name);
    this.options.forEach((option, i) => option.setAttribute("aria-selected", String(i === place)));
    say(this.shown, this.choices[place]?.title ?? String(name ?? ""));
    this.place = place;
  }

  open(open) {
    if (open === !this.popup.hidden) return;
    this.popup.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    say(this.how, "");
    if (open) this.at(Math.max(this.place, 0));
    else this.button.removeAttribute("aria-activedescendant");
  }

  /** Make an option the active one; `reached` by key: one that is out of reach says how to install it. */
  at(i, reached = true) {
    this.active = Math.min(this.options.length - 1, Math.max(0, i));
    this.options.forEach((option, k) => option.classList.toggle("rs-active", k === this.active));
    this.button.setAttribute("aria-activedescendant", this.options[this.active].id);
    if (!reached) return;
    this.options[this.active].scrollIntoView({ block: "nearest" });
    say(this.how, this.choices[this.active].missing ?? "");
  }

  /** Choose one; of one that is out of reach say what to install, and stay open so that the line can be copied. */
  take(i) {
    const { name, missing } = this.choices[i];
    if (missing) return this.at(i);
    this.open(false);
    if (i === this.place) return undefined;
    this.choose(name);
    return this.picked(name);
  }

  key(event) {
    const { key } = event;
    const open = !this.popup.hidden;
    const moves = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, Home: 0, End: this.options.length - 1 };
    if (key in moves) open ? this.at(moves[key]) : this.open(true);
    else if (open && (key === "Enter" || key === " ")) this.take(this.active);
    else if (open && key === "Escape") this.open(false);
    else if (key.length === 1 && key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) this.find(key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Letters typed within a second lead to the first title that begins with them. */
  find(letter) {
    clearTimeout(this.forgetting);
    this.forgetting = setTimeout(() => { this.typed = ""; }, 1000);
    this.typed += letter.toLowerCase();
    const found = this.choices.findIndex(({ title }) => title.toLowerCase().startsWith(this.typed));
    if (found < 0) return;
    this.open(true);
    this.at(found);
  }
}
