/** Draws one presenter on a canvas with WebGL 2, before a studio picture. */

import { Camera, Scene, SRGBColorSpace, Texture, Vector3, WebGLRenderer } from "three";
import type { Aspect } from "./extension";
import type { MotionFrame } from "./frame";
import { lensFor, projectionOf } from "./framing";
import { Presenter } from "./presenter";
import type { Shading } from "./shading";
import { Sprites } from "./sprites";

/** Device pixels per CSS pixel are worth no more than this. */
const MOST_PIXELS = 2;
const FLAT_PROBE = [Math.sqrt(4 * Math.PI), 0, 0, 0, 0, 0, 0, 0, 0];

export class PresenterView {
  readonly sprites: Sprites;
  private readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly camera = new Camera();
  private readonly shading: Shading = {
    probe: { value: FLAT_PROBE.map((value) => new Vector3(value, value, value)) },
    probeShare: { value: 0 },
  };
  private presenter: Presenter | null = null;
  private aspect: Aspect = "16:9";
  /** Counts loads; the view's end counts too. */
  private turn = 0;

  /** @throws Error when the browser gives no WebGL 2 context. */
  constructor(
    readonly canvas: HTMLCanvasElement,
    particles: number,
  ) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: false, powerPreference: "high-performance" });
    this.renderer.outputColorSpace = SRGBColorSpace;
    this.renderer.setClearColor(0x2a2f38);
    this.camera.matrixAutoUpdate = false;
    this.sprites = new Sprites(particles);
    this.scene.add(this.sprites.object);
  }

  get name(): string | null {
    return this.presenter?.extension.name ?? null;
  }

  /** Between the eyes, metres: where light is judged and gifts rise. */
  get head(): readonly [number, number, number] {
    const eyes = this.presenter?.extension.eyes;
    if (!eyes) return [0, 0, 0];
    return [0, 1, 2].map((k) => ((eyes.l.centre[k] ?? 0) + (eyes.r.centre[k] ?? 0)) / 2) as [number, number, number];
  }

  /** What draws, in the driver's words. */
  get driver(): string {
    const gl = this.renderer.getContext();
    const told = gl.getExtension("WEBGL_debug_renderer_info");
    return String(gl.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  }

  /** Show another presenter; one that is unpacked after a later one was asked for, or after the end, is let go. */
  async load(data: ArrayBuffer): Promise<void> {
    this.turn += 1;
    const turn = this.turn;
    const next = await Presenter.load(data, this.shading);
    if (turn !== this.turn) {
      next.dispose();
      return;
    }
    if (this.presenter) {
      this.scene.remove(this.presenter.root);
      this.presenter.dispose();
    }
    this.presenter = next;
    this.scene.add(next.root);
    this.frame();
    // Textures go up and programs are built now instead of during the first frames.
    await this.renderer.compileAsync(this.scene, this.camera);
  }

  setAspect(aspect: Aspect): void {
    this.aspect = aspect;
    this.frame();
  }

  /** Width and height in CSS pixels; the drawing follows the screen's density. */
  resize(width: number, height: number, density = window.devicePixelRatio): void {
    this.renderer.setPixelRatio(Math.min(density || 1, MOST_PIXELS));
    this.renderer.setSize(Math.max(2, Math.round(width)), Math.max(2, Math.round(height)), false);
    this.frame();
  }

  setBackdrop(image: HTMLImageElement | null): void {
    if (this.scene.background instanceof Texture) this.scene.background.dispose();
    if (!image) {
      this.scene.background = null;
      return;
    }
    const texture = new Texture(image);
    texture.colorSpace = SRGBColorSpace;
    texture.needsUpdate = true;
    this.scene.background = texture;
  }

  /** Irradiance over its mean, 9 × rgb (probe.ts); `share` of it is applied. */
  setProbe(coefficients: ArrayLike<number>, share: number): void {
    this.shading.probe.value.forEach((vector, i) => {
      vector.set(coefficients[3 * i] ?? 0, coefficients[3 * i + 1] ?? 0, coefficients[3 * i + 2] ?? 0);
    });
    this.shading.probeShare.value = share;
  }

  draw(frame: MotionFrame): void {
    this.presenter?.pose(frame);
    this.renderer.render(this.scene, this.camera);
  }

  dispose(): void {
    this.turn += 1;
    this.presenter?.dispose();
    this.setBackdrop(null);
    this.sprites.dispose();
    this.renderer.dispose();
  }

  private frame(): void {
    if (!this.presenter) return;
    const { width, height } = this.canvas;
    const lens = lensFor(this.presenter.extension, width, height, this.aspect);
    this.camera.projectionMatrix.fromArray(projectionOf(lens, width, height));
    this.camera.projectionMatrixInverse.copy(this.camera.projectionMatrix).invert();
    this.camera.matrix.makeTranslation(...lens.eye);
    this.camera.matrixWorldNeedsUpdate = true;
    this.sprites.setScale(lens.focalPx);
  }
}
