// Whether the page is dark, and a callback when that changes. Gradio marks dark mode with a class on the body.

export const isDark = () => document.body.classList.contains("dark") || document.documentElement.classList.contains("dark");

export function onTheme(changed) {
  let before = isDark();
  const look = () => {
    if (isDark() === before) return;
    before = isDark();
    changed(before);
  };
  const watcher = new MutationObserver(look);
  for (const node of [document.body, document.documentElement]) {
    watcher.observe(node, { attributes: true, attributeFilter: ["class"] });
  }
}

export const ink = () => (isDark() ? [255, 255, 255] : [18, 20, 28]);
