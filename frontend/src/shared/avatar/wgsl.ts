/** The compute programs of the hybrid mode, twins of particles.ts and probe.ts. */

import { STRIDE } from "./memory";
import { DRAG, GRAVITY, KIND_COLOURS, SWAY } from "./particles";
import { GLOW, LOBE, STUDIO_HEIGHT, STUDIO_WIDTH } from "./probe";

export const GROUP = 64;

const number = (value: number) => value.toPrecision(9);
const COLOURS = KIND_COLOURS.map((colour) => `vec3f(${colour.map(number).join(", ")})`).join(", ");

/** Bindings: 0 uniforms (dt, count, head), 1 particles, 2 studio, 3 probe. */
export const PROGRAM = /* wgsl */ `
struct Uniforms { dt: f32, count: u32, pad0: f32, pad1: f32, head: vec4f }
struct Particle { place: vec4f, speed: vec4f, turn: vec4f }
@group(0) @binding(0) var<uniform> given: Uniforms;
@group(0) @binding(1) var<storage, read_write> particles: array<Particle>;
@group(0) @binding(2) var<storage, read> studio: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> probe: array<f32>;

@compute @workgroup_size(${GROUP})
fn step(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= given.count) { return; }
  var p = particles[id.x];
  if (p.speed.w <= 0.0) { return; }
  let keep = exp(-${number(DRAG)} * given.dt);
  p.turn.x += p.turn.y * given.dt;
  let pull = vec3f(${number(SWAY)} * sin(p.turn.x), ${number(GRAVITY)}, 0.0);
  let speed = (p.speed.xyz + pull * given.dt) * keep;
  p.place = vec4f(p.place.xyz + speed * given.dt, p.place.w);
  p.speed = vec4f(speed, p.speed.w - given.dt / p.turn.w);
  particles[id.x] = p;
}

const COLOURS = array<vec3f, ${KIND_COLOURS.length}>(${COLOURS});
const WIDTH = ${STUDIO_WIDTH}u;
const HEIGHT = ${STUDIO_HEIGHT}u;
const PI = 3.14159265359;
var<workgroup> partial: array<array<vec3f, 9>, ${GROUP}>;

fn basis(d: vec3f) -> array<f32, 9> {
  return array<f32, 9>(
    0.282095, 0.488603 * d.y, 0.488603 * d.z, 0.488603 * d.x, 1.092548 * d.x * d.y, 1.092548 * d.y * d.z,
    0.315392 * (3.0 * d.z * d.z - 1.0), 1.092548 * d.x * d.z, 0.546274 * (d.x * d.x - d.y * d.y));
}

@compute @workgroup_size(${GROUP})
fn light(@builtin(local_invocation_index) lane: u32) {
  var sum: array<vec3f, 9>;
  var colours = COLOURS;
  for (var i = lane; i < WIDTH * HEIGHT; i += ${GROUP}u) {
    let longitude = (f32(i % WIDTH) + 0.5) / f32(WIDTH) * 2.0 * PI - PI;
    let latitude = PI / 2.0 - (f32(i / WIDTH) + 0.5) / f32(HEIGHT) * PI;
    let solid = 2.0 * PI / f32(WIDTH) * (PI / f32(HEIGHT)) * cos(latitude);
    let d = vec3f(sin(longitude) * cos(latitude), sin(latitude), cos(longitude) * cos(latitude));
    var b = basis(d);
    for (var k = 0; k < 9; k++) { sum[k] += b[k] * solid * studio[i].rgb; }
  }
  for (var i = lane; i < given.count; i += ${GROUP}u) {
    let p = particles[i];
    if (p.speed.w <= 0.0) { continue; }
    let away = p.place.xyz - given.head.xyz;
    let distance = max(0.08, length(away));
    let power = ${number(GLOW)} * p.place.w * p.place.w / (distance * distance) * min(1.0, p.speed.w) * 0.01;
    var b = basis(away / distance);
    for (var k = 0; k < 9; k++) { sum[k] += b[k] * power * colours[u32(p.turn.z)]; }
  }
  partial[lane] = sum;
  workgroupBarrier();
  if (lane < 9u) {
    var total = vec3f(0.0);
    for (var i = 0u; i < ${GROUP}u; i++) { total += partial[i][lane]; }
    let lobe = select(select(${number(LOBE[2])}, ${number(LOBE[1])}, lane < 4u), ${number(LOBE[0])}, lane == 0u);
    probe[3u * lane] = total.r * lobe;
    probe[3u * lane + 1u] = total.g * lobe;
    probe[3u * lane + 2u] = total.b * lobe;
  }
}
`;

export const PARTICLE_BYTES = STRIDE * 4;
