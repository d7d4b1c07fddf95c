"""Numbers of contrastive training, and of frozen features and embeddings."""

from __future__ import annotations

from trainers.metrics.measure import INDICATOR, Measure, Source

_CONTRAST = (
    Measure(
        name="probe_rate",
        title="Learning rate of the linear probe",
        short="probe rate",
        sentence="Learning rate at which the linear probe is best on held-out training images.",
        family="training",
        unit="number",
        better="",
        order=163,
    ),
    Measure(
        name="classifier_accuracy",
        title="Classifier accuracy",
        short="classifier",
        sentence="Share of test images that the classifier trained with the encoder, or after it, gets right.",
        family="training",
        order=164,
    ),
    Measure(
        name="contrast_accuracy",
        title="Contrast accuracy",
        short="own key first",
        sentence="Share of queries that are more similar to their own key than to every key of the dictionary.",
        family="training",
        order=180,
    ),
    Measure(
        name="dictionary_agreement",
        title="Dictionary agreement",
        short="agreement",
        sentence="Mean cosine between stored keys, of augmented views, and what their encoder now makes of the same "
        "images, not augmented.",
        family="training",
        unit="number",
        order=181,
    ),
    Measure(
        name="queue_filled",
        title="Queue filled",
        sentence="Share of the queue that holds keys of images; the rest is still as it was drawn at the start.",
        family="training",
        better="",
        order=182,
    ),
    Measure(
        name="queue_similarity/*",
        title="Agreement of keys, age group *",
        short="agreement *",
        sentence="The same for one group of keys; groups go from the youngest to the oldest.",
        family="training",
        unit="number",
        order=186,
    ),
    Measure(
        name="queue_age/*",
        title="Age of keys in batches, age group *",
        short="age *",
        sentence="Batches that have entered since the keys of this group, on average.",
        family="training",
        unit="number",
        better="",
        order=187,
    ),
    Measure(
        name="key_variance",
        title="Variance of keys",
        sentence="Of the unit keys in the dictionary: 0 where all are the same, 1 where their mean is zero.",
        family="training",
        unit="number",
        better="",
        order=183,
    ),
    Measure(
        name="positives_share",
        title="Queries with a positive",
        short="with a positive",
        sentence="Share of a batch's images that have another image of their class to be compared with.",
        family="training",
        order=188,
    ),
    Measure(
        name="projection_cosine",
        title="Mean cosine of projections",
        short="mean cosine",
        sentence="Between the projections of different images of a batch, first views only: 1 where the head sends all "
        "images the same way.",
        family="training",
        unit="number",
        better="",
        order=184,
    ),
    Measure(
        name="batch_accuracy",
        title="Classifier accuracy on training batches",
        short="on batches",
        sentence="Share of the augmented training images of a batch that the classifier gets right.",
        family="training",
        order=189,
    ),
    Measure(
        name="transfer_accuracy",
        title="Linear probe accuracy on the transfer dataset",
        short="transfer",
        sentence="Share of another dataset's test images that a linear classifier on the frozen encoder gets right.",
        family="training",
        order=190,
    ),
)


_KNN: Source = {
    "paper": "Unsupervised Feature Learning via Non-Parametric Instance Discrimination, Wu et al., CVPR 2018",
    "url": "https://arxiv.org/abs/1805.01978",
}
_SPHERE: Source = {
    "paper": "Understanding Contrastive Representation Learning through Alignment and Uniformity on the Hypersphere, "
    "Wang and Isola, ICML 2020",
    "url": "https://arxiv.org/abs/2005.10242",
}
_REPRESENTATION = (
    Measure(
        name="knn_accuracy",
        title="k-NN accuracy",
        short="k-NN",
        sentence="Share of test images whose class gets the most votes of the nearest training images, weighted by "
        "similarity.",
        family="representation",
        equation=r"\arg\max_c\sum_{i\in N_k(x)}e^{s_i/T}\,\mathbf 1[y_i=c]",
        symbols={
            "N_k(x)": "the k training images nearest to the test image x",
            "s_i": "cosine of x and training image i",
            "T": "temperature",
            "y_i": "class of image i",
            "c": "a class",
        }
        | INDICATOR,
        order=160,
        **_KNN,
    ),
    Measure(
        name="knn_top5",
        title="k-NN accuracy, top 5",
        short="k-NN top 5",
        sentence="The same, counting test images whose class is among the five with the most votes.",
        family="representation",
        equation=r"\operatorname{top5}_c\sum_{i\in N_k(x)}e^{s_i/T}\,\mathbf 1[y_i=c]",
        symbols={
            "N_k(x)": "the k training images nearest to the test image x",
            "s_i": "cosine of x and training image i",
            "T": "temperature",
            "y_i": "class of image i",
            "c": "a class",
        }
        | INDICATOR,
        order=161,
        **_KNN,
    ),
    Measure(
        name="probe_accuracy",
        title="Linear probe accuracy",
        short="probe",
        sentence="Share of test images that a linear classifier of the frozen features gets right, at the learning "
        "rate that is best on held-out training images.",
        family="representation",
        paper="Momentum Contrast for Unsupervised Visual Representation Learning, He et al., CVPR 2020",
        url="https://arxiv.org/abs/1911.05722",
        equation=r"\min_{W,b}\ -\tfrac1N\sum_i\log\operatorname{softmax}(W^{\top}f(x_i)+b)_{y_i}",
        symbols={
            "W,b": "weights and bias of the linear classifier",
            "N": "number of training images",
            "f(x_i)": "frozen features of image i",
            "y_i": "class of image i",
        },
        order=162,
    ),
    Measure(
        name="alignment",
        title="Alignment",
        short="alignment",
        sentence="Mean squared distance between the embeddings of two views of an image.",
        family="representation",
        unit="number",
        better="down",
        equation=r"\mathbb E_{(x,y)\sim p_{\mathrm{pos}}}\,\lVert f(x)-f(y)\rVert_2^{2}",
        symbols={
            r"f(x),\,f(y)": "embeddings of x and y, of length 1",
            r"p_{\mathrm{pos}}": "pairs of two views (x, y) of an image",
            r"\mathbb E": "mean over them",
        },
        order=170,
        **_SPHERE,
    ),
    Measure(
        name="uniformity",
        title="Uniformity",
        short="uniformity",
        sentence="How evenly embeddings cover the sphere: 0 where all are the same, lower is more even.",
        family="representation",
        unit="number",
        better="down",
        equation=r"\log\mathbb E_{x,y}\,e^{-2\lVert f(x)-f(y)\rVert_2^{2}}",
        symbols={
            r"f(x),\,f(y)": "embeddings of x and y, of length 1",
            r"\mathbb E_{x,y}": "mean over pairs of images x and y",
        },
        order=171,
        **_SPHERE,
    ),
    Measure(
        name="effective_rank",
        title="Effective rank",
        short="effective rank",
        sentence="How many dimensions the embeddings use, by the entropy of their singular values.",
        family="representation",
        unit="number",
        paper="RankMe: Assessing the Downstream Performance of Pretrained Self-Supervised Representations by Their "
        "Rank, Garrido et al., ICML 2023",
        url="https://arxiv.org/abs/2210.02885",
        equation=r"\exp\Big(-\sum_k p_k\log p_k\Big),\quad p_k=\frac{\sigma_k}{\sum_j\sigma_j}+\varepsilon",
        symbols={
            r"\sigma_k": "the k-th singular value of the matrix of embeddings",
            "p_k": "its share of their sum",
            r"\varepsilon": "a small number, against log 0",
            "j": "every singular value in turn",
        },
        order=172,
    ),
    Measure(
        name="class_collapse",
        title="Class collapse",
        short="class collapse",
        sentence="Variance within classes divided by the variance between their means: 0 where each class is one "
        "point. Good for telling these classes apart, bad for transfer to others.",
        family="representation",
        unit="number",
        better="",
        paper="Prevalence of Neural Collapse during the Terminal Phase of Deep Learning Training, Papyan et al., "
        "PNAS 2020",
        url="https://arxiv.org/abs/2008.08186",
        equation=r"\frac{\operatorname{tr}\Sigma_W}{\operatorname{tr}\Sigma_B}",
        symbols={r"\Sigma_W": "covariance within the classes (W)", r"\Sigma_B": "covariance between their means (B)"},
        order=173,
    ),
)


DESCRIPTORS = (*_CONTRAST, *_REPRESENTATION)
