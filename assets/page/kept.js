// What a visitor's browser keeps of the form: the settings that differ from their defaults, kind by kind.

import { store, stored } from "../common/storage.js";

const KEY = "rankscope-form";
const VERSION = 1;
const LONGEST = 1_000_000; // characters; a table of superclasses may have a fifth of that, in the form of each kind

const isObject = (value) => typeof value === "object" && value !== null;
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** {kind, forms: {kind: {settings, plan, own, vary}}}; nothing of anything else. */
export function kept() {
  try {
    const text = stored(KEY) ?? "";
    const held = text.length > LONGEST ? null : JSON.parse(text);
    return held?.version === VERSION && isObject(held.forms) ? held : { forms: {} };
  } catch {
    return { forms: {} }; // storage holds something else
  }
}

/** How a plan was left: its name, its values, and what is varied. */
export function usablePlan({ plan, own, vary } = {}) {
  const rows = Array.isArray(vary) ? vary.filter((row) => Array.isArray(row) && row.length === 2 && row.every((part) => typeof part === "string")) : [];
  return { plan: String(plan ?? ""), own: isObject(own) ? own : {}, vary: rows };
}

export const keep = (held) => store(KEY, JSON.stringify({ ...held, version: VERSION }));

/** The settings that differ from the defaults of their fields. */
export const changes = (values, fields) => Object.fromEntries(fields.filter(({ name, default: first }) => !same(values[name], first)).map(({ name }) => [name, values[name]]));

/** Kept settings that fit the fields there are now: of the type of the default, and of an entry that can be chosen. */
export function usable(settings, fields, registries) {
  const entries = Object.entries(isObject(settings) ? settings : {}).filter(([name, value]) => {
    const field = fields.find((field) => field.name === name);
    return field && fits(field, value, registries[field.registry] ?? []);
  });
  return Object.fromEntries(entries);
}

function fits(field, value, entries) {
  const chosen = (one) => entries.some(({ name, missing }) => name === one?.name && !missing) && typeof one.parameters === "object";
  if (field.control === "entries") return Array.isArray(value) && value.length > 0 && value.every(chosen);
  if (["entry", "hierarchy"].includes(field.control)) return chosen(value);
  if (field.choices && field.control === "select") return field.choices.some(([name]) => same(name, value));
  if (Array.isArray(field.default) || ["words", "levels"].includes(field.control)) return value === null || Array.isArray(value);
  return value === null ? field.optional : ["string", "number", "boolean"].includes(typeof value);
}
