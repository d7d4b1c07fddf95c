// Left, right, Home and End move the focus among the page's tabs, which Gradio gives to the Tab key alone.

const tabs = () => [...document.querySelectorAll("#rs-tabs button[role=tab]")].filter((tab) => tab.offsetParent !== null);

export function tabKeys() {
  document.getElementById("rs-tabs").addEventListener("keydown", (event) => {
    const all = tabs();
    const at = all.indexOf(event.target);
    const goal = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: -1 }[event.key];
    if (at < 0 || goal === undefined) return;
    event.preventDefault();
    all.at(goal % all.length).focus();
  });
}
