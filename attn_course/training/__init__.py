"""One trainer for every model of the course: steps, devices, files, progress."""

from attn_course.training.devices import Precision, best_device
from attn_course.training.files import write_json
from attn_course.training.trainer import Stopped, Training, Update

__all__ = ["Precision", "Stopped", "Training", "Update", "best_device", "write_json"]
