// Signing in with an account of the Hub, where the page offers it: who has signed in, or the link that leads there.

import { json, root } from "../common/api.js";
import { el } from "../common/dom.js";

export async function mount(element) {
  const host = element.querySelector(".rs-login");
  const { offered, name, address } = await json("login");
  if (!offered) return host.replaceChildren();
  const framed = window.self !== window.top;
  const query = new URLSearchParams(location.search);
  const failed = query.get("login") === "failed";
  query.delete("login");
  if (failed) history.replaceState(history.state, "", query.size ? `?${query}` : location.pathname);
  const here = `_target_url=${encodeURIComponent(`/?${query}`)}`;
  if (name) {
    const out = el("a", { class: "rs-textlink", href: `${root()}/logout?${here}`, text: "Sign out" });
    return host.replaceChildren(el("p", { class: "rs-sentence" }, `Signed in as ${name}. `, out));
  }
  // browsers may keep the cookie of a login out of a frame of another site
  const link = { class: "rs-textlink", text: "Sign in with Hugging Face", href: `${framed && address ? address : root()}/login/huggingface?${here}` };
  const why = framed ? " (in a tab of its own) to find your runs again elsewhere." : " to find your runs again elsewhere.";
  const refusal = failed ? "You are not signed in: it was declined, or Hugging Face did not answer. " : "";
  return host.replaceChildren(el("p", { class: "rs-sentence" }, refusal, el("a", framed ? { ...link, target: "_blank", rel: "noopener" } : link), why));
}
