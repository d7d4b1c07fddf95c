// The downloads of the run that the server names, as JSON. See explorer/components/downloads.py.

import { DownloadFold } from "../common/downloads.js";

/** `value()`: {id, downloads, losses} as JSON, empty for none; `watch(show)`: calls `show` whenever that is another. */
export function mount(element, { value, watch }) {
  const host = element.querySelector(".rs-downloadable");
  if (host.rankscope) return;
  const fold = (host.rankscope = new DownloadFold());
  const show = () => {
    const text = value();
    host.hidden = !text;
    if (text) fold.show(JSON.parse(text));
  };
  host.replaceChildren(fold.node, fold.push.node);
  watch(show);
  show();
}
