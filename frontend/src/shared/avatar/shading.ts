/** Additions to three.js' unlit material: eyeballs that turn, lids that shade them, a dark mouth, and the light probe. */

import type { IUniform, Matrix3, MeshBasicMaterial, Vector2, Vector3 } from "three";

export interface Shading {
  /** Nine coefficients of irradiance over its mean (see probe.ts), in the order of the basis. */
  probe: IUniform<Vector3[]>;
  /** How much of the probe is applied: 0 leaves the baked light as it is. */
  probeShare: IUniform<number>;
}

export interface PartShading {
  /** A front plate lies on the mesh: it is drawn where no surface is clearly before it. */
  plate: boolean;
  eye: { centre: IUniform<Vector3>; turn: IUniform<Matrix3>; lid: IUniform<Vector2[]> } | null;
  light: IUniform<number> | null;
}

/** How far a surface may come before a front plate and not show through it, metres. */
const PRESS_M = 0.035;
/** Shade of the eyeball right under the lid, and how far down it reaches (metres). */
const LID_SHADE = 0.46;
const LID_REACH_M = 0.0085;

const VERTEX_HEAD = /* glsl */ `
varying float vLumiShade;
varying vec3 vLumiNormal;
#ifdef LUMI_EYE
  uniform vec3 uEyeCentre;
  uniform mat3 uEyeTurn;
  uniform vec2 uLid[LUMI_EYE];
#endif
#ifdef LUMI_LIGHT
  uniform float uLight;
#endif
`;

const VERTEX_MORPHED = /* glsl */ `
vLumiShade = 1.0;
#ifdef LUMI_EYE
  transformed = uEyeTurn * (transformed - uEyeCentre) + uEyeCentre;
  float lidY = uLid[0].y;
  for (int i = 1; i < LUMI_EYE; ++i) {
    vec2 a = uLid[i - 1], b = uLid[i];
    if (transformed.x >= a.x) lidY = mix(a.y, b.y, clamp((transformed.x - a.x) / max(b.x - a.x, 1e-6), 0.0, 1.0));
  }
  vLumiShade = mix(${LID_SHADE.toFixed(2)}, 1.0, clamp((lidY - transformed.y) / ${LID_REACH_M.toFixed(4)}, 0.0, 1.0));
#endif
#ifdef LUMI_LIGHT
  vLumiShade = uLight;
#endif
`;

const VERTEX_TAIL = /* glsl */ `
#ifdef LUMI_PLATE
  vec4 lumiLifted = projectionMatrix * (mvPosition + vec4(0.0, 0.0, ${PRESS_M.toFixed(3)}, 0.0));
  gl_Position.z = lumiLifted.z / lumiLifted.w * gl_Position.w;
#endif
`;

const FRAGMENT_HEAD = /* glsl */ `
varying float vLumiShade;
varying vec3 vLumiNormal;
uniform vec3 uProbe[9];
uniform float uProbeShare;
vec3 lumiIrradiance(vec3 n) {
  return uProbe[0] * 0.282095 + (uProbe[1] * n.y + uProbe[2] * n.z + uProbe[3] * n.x) * 0.488603
    + (uProbe[4] * n.x * n.y + uProbe[5] * n.y * n.z + uProbe[7] * n.x * n.z) * 1.092548
    + uProbe[6] * 0.315392 * (3.0 * n.z * n.z - 1.0) + uProbe[8] * 0.546274 * (n.x * n.x - n.y * n.y);
}
`;

// Shade multiplies sRGB in our renderers; here light is linear.
const FRAGMENT_COLOUR = /* glsl */ `
diffuseColor.rgb *= pow(vLumiShade, 2.2);
diffuseColor.rgb *= mix(vec3(1.0), max(lumiIrradiance(normalize(vLumiNormal)), 0.0), uProbeShare);
`;

/** Patch the material's program; uniforms stay the caller's objects. */
export function shade(material: MeshBasicMaterial, shading: Shading, part: PartShading): void {
  material.defines = {
    ...material.defines,
    ...(part.eye ? { LUMI_EYE: part.eye.lid.value.length } : {}),
    ...(part.light ? { LUMI_LIGHT: "" } : {}),
    ...(part.plate ? { LUMI_PLATE: "" } : {}),
  };
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, { uProbe: shading.probe, uProbeShare: shading.probeShare });
    if (part.eye) {
      Object.assign(shader.uniforms, { uEyeCentre: part.eye.centre, uEyeTurn: part.eye.turn, uLid: part.eye.lid });
    }
    if (part.light) shader.uniforms.uLight = part.light;
    shader.vertexShader = patch(shader.vertexShader, [
      ["#include <common>", `#include <common>\n${VERTEX_HEAD}`],
      ["#include <skinnormal_vertex>", "#include <skinnormal_vertex>\nvLumiNormal = objectNormal;"],
      ["#include <morphtarget_vertex>", `#include <morphtarget_vertex>\n${VERTEX_MORPHED}`],
      ["#include <project_vertex>", `#include <project_vertex>\n${VERTEX_TAIL}`],
    ]);
    shader.fragmentShader = patch(shader.fragmentShader, [
      ["#include <common>", `#include <common>\n${FRAGMENT_HEAD}`],
      ["#include <color_fragment>", `#include <color_fragment>\n${FRAGMENT_COLOUR}`],
    ]);
  };
}

/** @throws Error when three.js no longer has the place: a silent miss would draw something else. */
export function patch(source: string, changes: readonly (readonly [string, string])[]): string {
  let text = source;
  for (const [place, put] of changes) {
    if (!text.includes(place)) throw new Error(`three.js' unlit shader has no '${place}'`);
    text = text.replace(place, () => put);
  }
  return text;
}
