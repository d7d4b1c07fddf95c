// A slider whose steps are factors, with a number field, for numbers such as temperatures and learning rates.

import { el } from "../common/dom.js";

const PLACES = 100;

/** `props` {value, low, high, zero, whole, name, help}, as explorer/page/logslider.py hands them on; `changed()` tells
 * Gradio of a new value. */
export function mount(element, { props, watch, changed }) {
  const { name, help } = props;
  const number = el("input", { class: "rs-log-number", type: "number", step: "any", "aria-label": name });
  const range = el("input", { class: "rs-log-range", type: "range", min: 0, max: PLACES, step: 1, "aria-label": `${name}, slider` });
  const { place, at } = scale(props);
  const write = () => {
    number.value = props.value ?? "";
    range.setAttribute("aria-valuetext", String(props.value ?? ""));
  };
  const slide = () => {
    range.value = place(Number(props.value));
  };
  const set = (value) => {
    props.value = value;
    write();
    changed();
  };
  // the handle stays where it is put: moved to the rounded value it could never leave it by the arrow keys
  range.addEventListener("input", () => set(at(Number(range.value))));
  number.addEventListener("change", () => {
    set(number.value === "" ? null : Number(number.value));
    slide();
  });
  watch("value", () => {
    write();
    slide();
  });
  write();
  slide();
  const head = el("div", { class: "rs-log-head" }, el("span", { class: "rs-log-name", text: name }), number);
  element.querySelector(".rs-logfield").replaceChildren(head, el("span", { class: "rs-log-help", text: help }), range);
}

/** From a number to its place on the slider and back. With a zero the left end is nothing else. */
function scale({ low, high, zero, whole }) {
  const [start, span, first] = [Math.log(low), Math.log(high) - Math.log(low), zero ? 1 : 0];
  const tidy = (x) => (whole ? Math.round(x) : Number(x.toPrecision(2)));
  const part = (value) => (Math.log(value) - start) / span;
  return {
    place: (value) => (value > 0 ? Math.round(Math.max(first, first + (PLACES - first) * part(value))) : 0),
    at: (place) => (place < first ? 0 : tidy(Math.exp(start + (span * (place - first)) / (PLACES - first)))),
  };
}
