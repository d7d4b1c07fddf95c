// A strip of buttons as one stop of the Tab key, within which arrow keys move; up and down lead to the next strip.

const within = (list) => [...list.querySelectorAll("li:not([hidden]) button")];

/** Left, right, Home and End move the focus among the buttons of `list`; `beside(by)` returns the strip above or below. */
export function arrows(list, beside = () => null) {
  list.addEventListener("keydown", (event) => {
    const buttons = within(list);
    const at = buttons.indexOf(document.activeElement);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (next === undefined && by === undefined) return;
    const others = by === undefined ? buttons : within(beside(by) ?? list);
    const goal = others[by === undefined ? next : Math.max(at, 0)];
    if (!goal) return;
    event.preventDefault();
    goal.focus();
  });
  list.addEventListener("focusin", () => settle(list));
  new MutationObserver(() => settle(list)).observe(list, { subtree: true, childList: true, attributes: true, attributeFilter: ["aria-pressed", "hidden"] });
  settle(list);
}

/** The Tab key stops at the button that has the focus, else at the one that is pressed, else at the first. */
function settle(list) {
  const buttons = within(list);
  const stop = buttons.find((button) => button === document.activeElement) ?? buttons.find((button) => button.ariaPressed === "true") ?? buttons[0];
  for (const button of buttons) if (button.tabIndex !== (button === stop ? 0 : -1)) button.tabIndex = button === stop ? 0 : -1;
}
