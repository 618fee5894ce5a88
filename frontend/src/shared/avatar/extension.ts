/** The pack's own part of its GLB: root extension `LUMIHOST_avatar` (docs/avatar-pack.md). Metres and canvas pixels. */

import { SKELETON } from "./tables";

export const EXTENSION = "LUMIHOST_avatar";

export interface Camera {
  focal_px: number;
  eye: [number, number, number];
  principal: [number, number];
  canvas: [number, number];
}

export interface Framing {
  height_px: number;
  scale: number;
  centre_x: number;
  top_px: number;
}

export interface Eye {
  centre: [number, number, number];
  radius: number;
}

export interface AvatarExtension {
  version: number;
  name: string;
  camera: Camera;
  framings: Record<string, Framing>;
  limits_deg: Record<string, number>;
  gaze: { degrees_per_unit: { horizontal: number; up: number; down: number } };
  eyes: { l: Eye; r: Eye };
  lash_columns: number;
}

export type Aspect = "16:9" | "9:16";

/** A file that is no pack this renderer can draw; the message says what is missing. */
export class PackError extends Error {}

/** @throws PackError when the GLB is not a presenter of a version known here. */
export function readExtension(json: unknown): AvatarExtension {
  const root = json as { extensions?: Record<string, unknown> } | null;
  const found = root?.extensions?.[EXTENSION] as Partial<AvatarExtension> | undefined;
  if (!found) throw new PackError(`the file has no ${EXTENSION} extension: it is no presenter`);
  if (found.version !== 2) throw new PackError(`version ${String(found.version)} of ${EXTENSION} is not known here`);
  for (const part of ["camera", "framings", "limits_deg", "gaze", "eyes"] as const) {
    if (typeof found[part] !== "object" || found[part] === null) throw new PackError(`${EXTENSION} has no '${part}'`);
  }
  return found as AvatarExtension;
}

/** Largest angle of each joint of `SKELETON`, radians; 180° where the pack says nothing. */
export function limitsOf(extension: AvatarExtension): Float32Array {
  return Float32Array.from(SKELETON, (name) => ((extension.limits_deg[name] ?? 180) * Math.PI) / 180);
}
