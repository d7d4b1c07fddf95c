// Classes under groups, and groups under further groups: what the editor of superclasses changes, step by step. No DOM.
//
// A tree is {levels, classes, layers, next}: `levels` the names of the levels, finest first; `classes` [{name, images}];
// of each layer above them `groups` [{id, name}] and `of`, a map from each item below, the index of a class or
// the id of a group, to the id of its group, null for a class that is dropped. Trees are never changed: a step makes a
// new one. A step that cannot be made throws an error whose message is a sentence.

export const DROPPED = "(dropped)";
export const REVIEWED = "reviewed"; // name of a last column of tables that is no level
export const UNSORTED = "unsorted";
export const LONGEST = 200; // letters of a name

/** A tree of rows [class, superclass, ...] with the names of their levels; `images` of each class, or null where it is not
 * known. A row without superclasses goes to a group of its own kind, to be sorted. */
export function treeOf(levels, rows, images) {
  const depth = Math.max(2, levels.length);
  const titles = [...levels, ...["class", "superclass"].slice(levels.length)].slice(0, depth);
  const classes = rows.map(([name], i) => ({ name, images: images[i] ?? null }));
  let tree = { levels: titles, classes, layers: [], next: classes.length };
  let below = rows.map((row, i) => [i, row]);
  for (let level = 1; level < depth; level += 1) {
    const ids = new Map();
    const of = new Map();
    const above = new Map();
    for (const [item, row] of below) {
      const name = row[level] || UNSORTED;
      if (name !== DROPPED && !ids.has(name)) ids.set(name, tree.next + ids.size);
      const id = name === DROPPED ? null : ids.get(name);
      of.set(item, id);
      if (id === null) continue;
      if (above.has(id) && above.get(id)[level + 1] !== row[level + 1]) throw new Error(`${brief(name)} has two groups above it, ${brief(above.get(id)[level + 1])} and ${brief(row[level + 1])}. It needs one.`);
      above.set(id, row);
    }
    const groups = [...ids].map(([name, id]) => ({ id, name }));
    tree = { ...tree, layers: [...tree.layers, { groups, of }], next: tree.next + ids.size };
    below = [...above];
  }
  return tree;
}

const brief = (name) => `“${String(name ?? "").slice(0, 60)}”`;

/** The items of a layer's groups: id of the group to ids of the items, in order; those that are dropped under null. */
export function members(tree, layer) {
  const { groups, of } = tree.layers[layer];
  const made = new Map([...groups.map(({ id }) => [id, []]), [null, []]]);
  for (const item of items(tree, layer)) made.get(of.get(item)).push(item);
  return made;
}

/** Ids of what a layer puts in groups, without what is dropped. */
export const kept = (tree, layer) => items(tree, layer).filter((item) => tree.layers[layer].of.get(item) !== null);

const items = (tree, layer) => (layer ? tree.layers[layer - 1].groups.map(({ id }) => id) : tree.classes.map((_, i) => i));

/** Indices of the classes under items of a layer, in the order of these. */
export function classesUnder(tree, layer, ids) {
  let under = ids;
  for (let below = layer - 1; below >= 0; below -= 1) {
    const inside = members(tree, below);
    under = under.flatMap((id) => inside.get(id));
  }
  return under;
}

export const imagesOf = (tree, indices) => indices.reduce((sum, i) => sum + (tree.classes[i].images ?? 0), 0);

export const itemName = (tree, layer, item) => (layer ? tree.layers[layer - 1].groups.find(({ id }) => id === item).name : tree.classes[item].name);

export const groupNamed = (tree, layer, name) => tree.layers[layer].groups.find((group) => group.name === name);

/** Put items in a group; null drops them. Groups that are left empty go. */
export function moved(tree, layer, ids, group) {
  const of = new Map(tree.layers[layer].of);
  for (const id of ids) of.set(id, group);
  return pruned(replaced(tree, layer, { of }));
}

/** Put items in a new group, under what the first of them was under. */
export function movedToNew(tree, layer, ids, name) {
  const fresh = { id: tree.next, name: checked(tree, layer, name) };
  const above = tree.layers[layer + 1];
  const before = tree.layers[layer].of.get(ids[0]);
  let next = replaced({ ...tree, next: tree.next + 1 }, layer, { groups: [...tree.layers[layer].groups, fresh] });
  if (above) next = replaced(next, layer + 1, { of: new Map(above.of).set(fresh.id, above.of.get(before) ?? above.groups[0].id) });
  return moved(next, layer, ids, fresh.id);
}

/** Leave out all classes under groups. */
export function dropped(tree, layer, groups) {
  const inside = members(tree, layer);
  return moved(tree, 0, classesUnder(tree, layer, groups.flatMap((id) => inside.get(id))), null);
}

/** Put the items of groups together, under the name of the largest. */
export function merged(tree, layer, groups) {
  if (groups.length < 2) throw new Error("Two or more groups are needed to merge them.");
  const inside = members(tree, layer);
  const [into] = [...groups].sort((a, b) => inside.get(b).length - inside.get(a).length);
  return moved(tree, layer, groups.flatMap((id) => inside.get(id)), into);
}

/** Divide a group: `of` says which part each of its items goes to, `after` which item names each part. */
export function split(tree, layer, group, of, after) {
  const inside = members(tree, layer).get(group);
  const { groups, of: before } = tree.layers[layer];
  const taken = new Set(groups.filter(({ id }) => id !== group).map(({ name }) => name));
  const parts = after.map((item, part) => {
    const name = unlike(itemName(tree, layer, inside[item]), taken);
    taken.add(name);
    return { id: tree.next + part, name };
  });
  const at = groups.findIndex(({ id }) => id === group);
  const made = new Map(before);
  for (const [i, item] of inside.entries()) made.set(item, parts[of[i]].id);
  let next = replaced({ ...tree, next: tree.next + parts.length }, layer, { groups: groups.toSpliced(at, 1, ...parts), of: made });
  const above = tree.layers[layer + 1];
  if (above) {
    const over = new Map(above.of);
    for (const { id } of parts) over.set(id, above.of.get(group));
    next = replaced(next, layer + 1, { of: over });
  }
  return pruned(next);
}

/** Make the groups of a layer anew, of those of its items that are not dropped; the layers above it go. */
export function clustered(tree, layer, of, after) {
  const every = kept(tree, layer);
  const taken = new Set();
  const groups = after.map((item, part) => {
    const name = unlike(itemName(tree, layer, every[item]), taken);
    taken.add(name);
    return { id: tree.next + part, name };
  });
  const made = new Map(tree.layers[layer].of);
  for (const [i, item] of every.entries()) made.set(item, groups[of[i]].id);
  return { ...tree, next: tree.next + groups.length, levels: tree.levels.slice(0, layer + 2), layers: [...tree.layers.slice(0, layer), { groups, of: made }] };
}

/** Put a level above the coarsest: `of` says in which of the groups `names` each of its groups is. */
export function raised(tree, title, of, names) {
  const below = tree.layers.at(-1).groups;
  const groups = names.map((name, i) => ({ id: tree.next + i, name: named(name) }));
  const layer = { groups, of: new Map(below.map(({ id }, i) => [id, groups[of[i]].id])) };
  return pruned({ ...tree, levels: [...tree.levels, title], layers: [...tree.layers, layer], next: tree.next + names.length });
}

/** Take the coarsest level away. */
export const lowered = (tree) => ({ ...tree, levels: tree.levels.slice(0, -1), layers: tree.layers.slice(0, -1) });

export function renamed(tree, layer, group, name) {
  return changedGroup(tree, layer, group, { name: checked(tree, layer, name, group) });
}

export function levelRenamed(tree, level, name) {
  const title = named(name);
  if (title === REVIEWED || tree.levels.some((each, i) => each === title && i !== level)) throw new Error(`The name ${brief(title)} of a level is taken. Use another.`);
  return { ...tree, levels: tree.levels.with(level, title) };
}

/** Rows with a head, as a mapping reads them: class, superclass and so on. */
export function rowsOf(tree) {
  const names = tree.layers.map(({ groups }) => new Map(groups.map((group) => [group.id, group])));
  const body = tree.classes.map(({ name }, i) => {
    const path = [];
    let item = i;
    for (const [layer, { of }] of tree.layers.entries()) {
      item = item === null ? null : of.get(item);
      path.push(item === null ? null : names[layer].get(item));
    }
    return [name, ...path.map((group) => group?.name ?? DROPPED)];
  });
  return [tree.levels, ...body];
}

function named(name) {
  const title = name.trim().slice(0, LONGEST);
  if (!title || title === DROPPED) throw new Error("A group needs a name.");
  return title;
}

function checked(tree, layer, name, group = null) {
  const title = named(name);
  const other = groupNamed(tree, layer, title);
  if (other && other.id !== group) throw new Error(`There is a group ${brief(title)} already. Merge the two, or use another name.`);
  return title;
}

function unlike(name, taken) {
  let title = name;
  for (let number = 2; taken.has(title); number += 1) title = `${name} ${number}`;
  return title;
}

const replaced = (tree, layer, parts) => ({ ...tree, layers: tree.layers.with(layer, { ...tree.layers[layer], ...parts }) });

function changedGroup(tree, layer, group, parts) {
  return replaced(tree, layer, { groups: tree.layers[layer].groups.map((each) => (each.id === group ? { ...each, ...parts } : each)) });
}

/** A tree without groups that hold nothing, and without what was said of them. */
function pruned(tree) {
  let there = null;
  const layers = tree.layers.map(({ groups, of }) => {
    const still = there === null ? of : new Map([...of].filter(([item]) => there.has(item)));
    const held = new Set(still.values());
    const left = groups.filter(({ id }) => held.has(id));
    there = new Set(left.map(({ id }) => id));
    return { groups: left.length === groups.length ? groups : left, of: still };
  });
  return { ...tree, layers };
}
