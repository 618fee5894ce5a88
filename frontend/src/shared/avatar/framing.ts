/** Where a pack's camera puts things in a picture of a given size: the twin of gpu_engine/avatar/framing.py. */

import { type Aspect, type AvatarExtension, PackError } from "./extension";

export interface Lens {
  /** Focal length in output pixels. */
  focalPx: number;
  /** Metres. */
  eye: [number, number, number];
  /** Principal point in output pixels from the top left. */
  centre: [number, number];
}

export const NEAR_M = 0.2;
export const FAR_M = 12;

/** @throws PackError when the pack has no such framing. */
export function lensFor(extension: AvatarExtension, width: number, height: number, aspect: Aspect): Lens {
  const framing = extension.framings[aspect];
  if (!framing) throw new PackError(`presenter '${extension.name}' has no framing '${aspect}'`);
  const { camera } = extension;
  const scale = (height / framing.height_px) * framing.scale;
  const left = Math.round(width * framing.centre_x) - (camera.canvas[0] / 2) * scale;
  const top = (framing.top_px * height) / framing.height_px;
  return {
    focalPx: camera.focal_px * scale,
    eye: camera.eye,
    centre: [left + camera.principal[0] * scale, top + camera.principal[1] * scale],
  };
}

/** OpenGL projection of the lens, column-major, for a camera at `lens.eye` that looks along −z. */
export function projectionOf(lens: Lens, width: number, height: number): Float32Array {
  const out = new Float32Array(16);
  out[0] = (2 * lens.focalPx) / width;
  out[5] = (2 * lens.focalPx) / height;
  out[8] = 1 - (2 * lens.centre[0]) / width;
  out[9] = (2 * lens.centre[1]) / height - 1;
  out[10] = -(FAR_M + NEAR_M) / (FAR_M - NEAR_M);
  out[11] = -1;
  out[14] = (-2 * FAR_M * NEAR_M) / (FAR_M - NEAR_M);
  return out;
}
