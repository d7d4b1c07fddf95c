// Asks an address of the server while it is seen, and says when what it answers has changed. See explorer/components/watch.py.

import { json } from "../common/api.js";
import { Problem } from "../common/fields.js";
import { Poll } from "../common/poll.js";

const LOST = "Reconnecting: the server does not answer. Training goes on if only the connection is lost.";

/** `address()`: where to ask, empty for nowhere; `moved()`: another revision is there. */
export function mount(element, { address, moved }) {
  const host = element.querySelector(".rs-watch");
  if (host.rankscope) return;
  const problem = new Problem();
  host.replaceChildren(problem.node);
  let known = { at: "", revision: null };
  const ask = async () => {
    const at = address();
    if (!at) return false;
    const { revision, moving } = await json(at);
    if (known.at === at && known.revision !== revision) moved();
    known = { at, revision };
    return moving;
  };
  const poll = (host.rankscope = new Poll(ask, (error) => problem.say(error && (error.status ? error.message : LOST)), host));
  window.addEventListener("rankscope:changed", () => poll.seen && moved());
  window.addEventListener("rankscope:tab", () => setTimeout(() => poll.resume())); // an empty element crosses no edge of the window
  poll.start();
}
