"""Fine-tuning an image-text model on photos and on object-removed photos (Kim et al. 2023, 3.3).

python -m trainers mend --help        fine-tune one model after up to four recipes
python -m trainers score --help       ODmAP@k and recall of any model on any set of photos with sentences
"""
