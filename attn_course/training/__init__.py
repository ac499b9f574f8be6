"""One trainer for every model of the course: steps, devices, files, progress."""

from attn_course.training.devices import Precision, best_device
from attn_course.training.trainer import BaseTrainer, Stopped, Update

__all__ = ["BaseTrainer", "Precision", "Stopped", "Update", "best_device"]
