// What each kind of run is measured by: names, meanings and places of its numbers.

import { grouped } from "./dom.js";

const RATE = "rate"; // lives between 0 and 1
const FREE = "free";

const [WHOLE, BEFORE_CAP, PROBE, TRAIN] = ["test/images", "test/images_before_cap", "probe_images", "train_images"];
const PHOTO_CAP = "test/photos_of_each_split";
const many = (count) => (count ? `${grouped(count)} ` : ""); // older runs do not say how many

/** numbers: [key, name, meaning] under a map, partTitle says of how many; whole: the same over all test images, under wholeTitle; panels and later: [key, name, kind, dashed companion]. */
const RANKING = {
  numbers: [
    ["R_at_1", "R@1", "Share of test images whose nearest other image is of the same finest class."],
    ["AP_at_R", "mAP@R", "Precision averaged over the first R results, R being the number of images that should be found."],
    ["HAP", "H-AP", "Average precision that gives part credit to results of a related class."],
    ["train_R_at_1", "train R@1", "R@1 on the training images; far above R@1 means the loss learns them by heart."],
  ],
  wholeTitle: (values) => (values[BEFORE_CAP] ? `${grouped(values[WHOLE])} of ${grouped(values[BEFORE_CAP])} test images` : `all ${many(values[WHOLE])}test images`),
  partTitle: (values) => (values[PROBE] ? `on ${grouped(values[PROBE])} test images; train R@1${values.trained === null ? "" : ` of step ${grouped(values.trained)}`} on ${grouped(values[TRAIN])} training images` : ""),
  counts: [WHOLE, BEFORE_CAP, PROBE, TRAIN],
  whole: [["test/R_at_1", "R@1"], ["test/AP_at_R", "mAP@R"], ["test/HAP", "H-AP"]],
  panels: [
    ["R_at_1", "R@1", RATE, "train_R_at_1"],
    ["AP_at_R", "mAP@R", RATE],
    ["HAP", "H-AP", RATE],
    ["loss", "Loss", FREE],
  ],
  later: [
    ["NDCG", "NDCG", RATE],
    ["ASI", "ASI", RATE],
    ["images_per_s", "Images per second", FREE],
    ["clipped_share", "Share of steps clipped", RATE],
  ],
  key: "solid: test images · dashed: training images",
  headline: [["R_at_1", "R@1"], ["HAP", "H-AP"]],
};

const MENDING = {
  numbers: [
    ["ODmAP_at_1", "ODmAP@1", "Share of photos without their object whose first sentence names nothing that is gone and something that is there."],
    ["hallucination_at_1", "names it", "Share of photos without their object whose first sentence still names it."],
    ["rerendered_ODmAP_at_1", "drawn again", "ODmAP@1 on photos drawn again without the object, where nothing was painted over."],
    ["i2t_R_at_5", "R@5", "Share of untouched photos with one of their own sentences among the first five."],
  ],
  wholeTitle: (values) =>
    values[PHOTO_CAP]
      ? `${many(values["test/queries"])}removals, ${many(values["test/sentences"])}sentences, of ${grouped(values[PHOTO_CAP])} photos of each split at most`
      : `all ${many(values["test/queries"])}removals, all ${many(values["test/sentences"])}sentences`,
  partTitle: (values) => (values.queries ? `on ${grouped(values.queries)} removals, ${grouped(values.sentences)} sentences` : ""),
  counts: ["queries", "sentences", "test/queries", "test/sentences", PHOTO_CAP],
  whole: [["test/ODmAP_at_1", "ODmAP@1"], ["test/rerendered_ODmAP_at_1", "drawn again"], ["test/i2t_R_at_5", "R@5"]],
  panels: [
    ["ODmAP_at_1", "ODmAP@1", RATE, "rerendered_ODmAP_at_1"],
    ["hallucination_at_1", "Names what is gone @1", RATE],
    ["i2t_R_at_1", "Photo to sentence R@1", RATE, "i2t_R_at_5"],
    ["loss", "Loss", FREE],
  ],
  later: [
    ["ODmAP_at_5", "ODmAP@5", RATE],
    ["ODmAP_at_10", "ODmAP@10", RATE],
    ["present_at_1", "Names what is there @1", RATE],
    ["t2i_R_at_1", "Sentence to photo R@1", RATE],
    ["distinct_top1", "Different first answers", FREE],
    ["images_per_s", "Pairs per second", FREE],
    ["clipped_share", "Share of steps clipped", RATE],
  ],
  key: "dashed: ODmAP@1 on photos drawn again · R@5",
  headline: [["ODmAP_at_1", "ODmAP@1"], ["i2t_R_at_5", "R@5"]],
};

/** The measures of a run, or of its card in the list. */
export const measures = (run) => (run?.kind === "mending" ? MENDING : RANKING);
