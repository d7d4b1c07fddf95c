// Arrow keys within a strip of buttons, and between strips: the same rank in the next row.

/** Left, right, Home and End move the focus among the buttons of `list`; `beside(by)` returns the strip above or below. */
export function arrows(list, beside = () => null) {
  list.addEventListener("keydown", (event) => {
    const buttons = [...list.querySelectorAll("li:not([hidden]) button")];
    const at = buttons.indexOf(document.activeElement);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (next === undefined && by === undefined) return;
    const others = by === undefined ? buttons : [...(beside(by)?.querySelectorAll("li:not([hidden]) button") ?? [])];
    const goal = others[by === undefined ? next : Math.max(at, 0)];
    if (!goal) return;
    event.preventDefault();
    goal.focus();
  });
}
