/** A presenter's GLB as a three.js scene that a motion frame moves. */

import {
  Bone,
  type BufferAttribute,
  type BufferGeometry,
  Group,
  Matrix3,
  Mesh,
  MeshBasicMaterial,
  type Object3D,
  SkinnedMesh,
  TextureLoader,
  Vector2,
  Vector3,
} from "three";
import { type GLTF, GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
import { type AvatarExtension, limitsOf, PackError, readExtension } from "./extension";
import type { MotionFrame } from "./frame";
import { drawnWeights, gazeOf, heldTurn, LOOK_SHAPES, mouthLight, shapesOf } from "./pose";
import { type Shading, shade } from "./shading";
import { ARKIT, JOINTS, SKELETON, WEIGHTS } from "./tables";

const LAYERS = ["under", "mesh", "front", "over"] as const;
type Layer = (typeof LAYERS)[number];
/** Draw order: everything is in one sorted list, opaque parts of a layer before those that blend. */
const ORDER: Record<Layer, number> = { under: 0, mesh: 10, front: 20, over: 30 };
const BLENDED = 5;
const INNER_MOUTH = new Set(["teeth_upper", "teeth_lower", "tongue", "throat"]);
/** Vertex colours multiply linear light in the file and sRGB in our renderers (gpu_engine/avatar/writer.py). */
export const SHADE_GAMMA = 2.2;

interface Part {
  mesh: SkinnedMesh;
  /** ARKit number of each morph target that is left. */
  shapes: number[];
}

interface Lid {
  base: Float32Array;
  shapes: number[];
  deltas: Float32Array[];
  line: Vector2[];
}

export class Presenter {
  readonly root = new Group();
  private readonly limits: Float32Array;
  private readonly bones: (Object3D | null)[];
  private readonly parts: Part[] = [];
  private readonly lids: Lid[] = [];
  private readonly weights = new Float32Array(WEIGHTS.length);
  private readonly shapes = new Float32Array(ARKIT.length);
  private readonly eyeTurn = { value: new Matrix3() };
  private readonly mouth = { value: 1 };

  private constructor(
    readonly extension: AvatarExtension,
    gltf: GLTF,
    shading: Shading,
  ) {
    this.limits = limitsOf(extension);
    this.root.add(gltf.scene);
    const named = new Map<string, Object3D>();
    gltf.scene.traverse((object) => {
      if (object instanceof Bone) named.set(object.name, object);
    });
    this.bones = SKELETON.map((name) => named.get(name) ?? null);
    if (!this.bones[SKELETON.indexOf("head")]) throw new PackError(`presenter '${extension.name}' has no joint 'head'`);
    const meshes: Mesh[] = [];
    gltf.scene.traverse((object) => {
      if (object instanceof Mesh) meshes.push(object);
    });
    for (const mesh of meshes) this.take(mesh, shading);
  }

  /** @throws PackError when the file is no presenter, or an error of the loader when it is no GLB. */
  static async load(data: ArrayBuffer, shading: Shading): Promise<Presenter> {
    const loader = new GLTFLoader();
    loader.register((parser) => {
      // Image elements instead of fetched bitmaps: the page's content policy lets blob: images in, not blob: requests.
      parser.textureLoader = new TextureLoader(parser.options.manager);
      return { name: "LUMIHOST_image_elements" };
    });
    const gltf = await loader.parseAsync(data, "");
    return new Presenter(readExtension(gltf.parser.json), gltf, shading);
  }

  /** Move everything to where the frame has it. */
  pose(frame: MotionFrame): void {
    drawnWeights(frame.weights, this.weights);
    shapesOf(this.weights, this.shapes);
    for (const { mesh, shapes } of this.parts) {
      const influences = mesh.morphTargetInfluences;
      if (influences)
        shapes.forEach((shape, i) => {
          influences[i] = this.shapes[shape] ?? 0;
        });
    }
    for (let j = 0; j < JOINTS.length; j += 1) {
      this.bones[j + 1]?.quaternion.set(...heldTurn(frame.joints, j * 4, this.limits[j + 1] ?? Math.PI));
    }
    const { yaw, pitch } = gazeOf(frame.weights, this.extension.gaze);
    const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    this.eyeTurn.value.set(cy, sy * sp, sy * cp, 0, cp, -sp, -sy, cy * sp, cy * cp);
    for (const lid of this.lids) this.bend(lid);
    this.mouth.value = mouthLight(this.weights);
  }

  dispose(): void {
    for (const { mesh } of this.parts) {
      mesh.geometry.dispose();
      mesh.skeleton.dispose();
      const material = mesh.material as MeshBasicMaterial;
      material.map?.dispose();
      material.dispose();
    }
  }

  private take(mesh: Mesh, shading: Shading): void {
    const { name, layer } = describe(mesh);
    if (!(mesh instanceof SkinnedMesh)) throw new PackError(`part '${name}' has no skin`);
    const source = mesh.material;
    if (!(source instanceof MeshBasicMaterial))
      throw new PackError(`part '${name}' is not unlit (KHR_materials_unlit)`);
    const side = name === "eye_l" ? "l" : name === "eye_r" ? "r" : null;
    const shapes = dropStill(mesh, side !== null);
    // Shape numbers, not names, are what moves the parts.
    mesh.morphTargetInfluences = shapes.map(() => 0);
    const material = source.clone();
    const plate = mesh.name.startsWith("plate");
    const blend = source.transparent;
    // One sorted list for all: three.js would draw everything opaque first, and arms come after plates.
    material.transparent = true;
    material.depthWrite = !blend;
    material.depthTest = layer !== "under";
    material.toneMapped = false;
    shade(material, shading, {
      plate: plate && layer === "front",
      eye: side ? this.eye(side) : null,
      light: INNER_MOUTH.has(name) ? this.mouth : null,
    });
    mesh.material = material;
    mesh.renderOrder = ORDER[layer] + (blend ? BLENDED : 0);
    mesh.frustumCulled = false;
    this.parts.push({ mesh, shapes });
    const columns = this.extension.lash_columns;
    const match = /^lash_([lr])_upper$/.exec(name);
    if (match && columns > 1) this.margin(match[1] as "l" | "r", mesh, shapes, columns);
  }

  private readonly margins: Partial<Record<"l" | "r", { value: Vector2[] }>> = {};

  private eye(side: "l" | "r") {
    const columns = Math.max(2, this.extension.lash_columns);
    // Far above the eye until the lashes are read: an eye without lashes has no shade.
    this.margins[side] ??= { value: Array.from({ length: columns }, (_, i) => new Vector2(i, 1e3)) };
    return {
      centre: { value: new Vector3(...this.extension.eyes[side].centre) },
      turn: this.eyeTurn,
      lid: this.margins[side],
    };
  }

  /** The lid's margin is the first vertices of the upper lashes, in order of x. */
  private margin(side: "l" | "r", mesh: SkinnedMesh, shapes: number[], columns: number): void {
    const take = (attribute: BufferAttribute) =>
      Float32Array.from({ length: columns * 2 }, (_, i) =>
        i % 2 === 0 ? attribute.getX(i >> 1) : attribute.getY(i >> 1),
      );
    const { base, deltas } = {
      base: take(mesh.geometry.getAttribute("position") as BufferAttribute),
      deltas: (mesh.geometry.morphAttributes.position ?? []).map((target) => take(target as BufferAttribute)),
    };
    this.lids.push({ base, deltas, shapes, line: this.eye(side).lid.value });
  }

  private bend({ base, deltas, shapes, line }: Lid): void {
    for (let i = 0; i < line.length; i += 1) {
      let [x, y] = [base[2 * i] ?? 0, base[2 * i + 1] ?? 0];
      for (let k = 0; k < shapes.length; k += 1) {
        const share = this.shapes[shapes[k] ?? 0] ?? 0;
        if (share === 0) continue;
        x += share * (deltas[k]?.[2 * i] ?? 0);
        y += share * (deltas[k]?.[2 * i + 1] ?? 0);
      }
      line[i]?.set(x, y);
    }
  }
}

function describe(mesh: Mesh): { name: string; layer: Layer } {
  const told = mesh.geometry.userData as { name?: string; layer?: string };
  const layer = LAYERS.find((known) => known === told.layer) ?? "mesh";
  return { name: told.name ?? mesh.name, layer };
}

/** Leave out the targets that move nothing of this part (most of them), and the look of eyeballs; returns what is left. */
function dropStill(mesh: SkinnedMesh, eyeball: boolean): number[] {
  const geometry: BufferGeometry = mesh.geometry;
  const targets = geometry.morphAttributes.position ?? [];
  const names = mesh.morphTargetDictionary ?? {};
  const shapes: number[] = [];
  const kept: typeof targets = [];
  for (const [name, index] of Object.entries(names)) {
    const shape = ARKIT.indexOf(name as (typeof ARKIT)[number]);
    const target = targets[index];
    if (shape < 0 || !target || (eyeball && LOOK_SHAPES.has(shape))) continue;
    if (!(target as BufferAttribute).array.some((value) => Math.abs(value) > 1e-5)) continue;
    shapes.push(shape);
    kept.push(target);
  }
  geometry.morphAttributes = kept.length > 0 ? { position: kept } : {};
  return shapes;
}
