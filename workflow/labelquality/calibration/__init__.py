"""Calibration of scores and class probabilities, and how well calibrated they are.

Paper 1, C.4: a detection is correct when COCO's matching at IoU 0.5 gives it an object of its
class. One map per fold of images, from raw score to the probability of being correct, is fitted on
the other folds, all classes together, and applied to every class probability of its own fold.
"""
