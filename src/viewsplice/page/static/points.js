// Points of all latent spaces, drawn by one WebGL context (browsers allow few) and copied into each panel's canvas.

const VERTEX = `#version 300 es
in vec3 place; in vec4 color; in float shape; in float chosen;
uniform vec3 center; uniform mat3 turn; uniform vec2 scale; uniform float depth; uniform float size;
uniform float stage; uniform vec4 rest; uniform float opacity;
out vec4 ink; flat out int form;
void main() {
  vec3 p = turn * (place - center);
  float near = p.z * depth;
  gl_Position = vec4(p.xy * scale, -0.5 * near, 1.0);
  gl_PointSize = size * (1.0 + 0.35 * near);
  form = int(shape + 0.5);
  ink = vec4(color.rgb, color.a * opacity);
  // Far points fade towards the gray of the ground.
  ink.rgb = mix(ink.rgb, rest.rgb, clamp(-0.45 * near, 0.0, 0.6));
  // Stage 0 draws the rows that are not selected, stage 1 those that are, stage 2 all of them.
  if (stage < 1.5 && abs(chosen - stage) > 0.5) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
  if (stage < 0.5) { ink = rest; gl_PointSize *= 0.7; }
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 ink; flat in int form; out vec4 result;
uniform bool solid;
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0;
  // Distance from the middle of a disk, a triangle, a square: 1 at the edge.
  float away = form == 0 ? length(p) : form == 1 ? max(p.y, 2.0 * abs(p.x) - p.y) : 1.1 * max(abs(p.x), abs(p.y));
  float cover = 1.0 - smoothstep(0.75, 1.0, away);
  // With depth, what is behind cannot shine through the rim of a point: a narrower rim hides that.
  if (cover < (solid ? 0.3 : 0.02)) discard;
  float alpha = solid ? min(1.0, 1.4 * cover) : ink.a * cover;
  result = vec4(ink.rgb * alpha, alpha);
}`;

class GlPoints {
  // Throws where there is no WebGL 2; the caller then takes FlatPoints.
  constructor() {
    this.canvas = document.createElement("canvas");
    const gl = this.canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("no WebGL 2");
    this.gl = gl;
    this.program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.program));
    gl.useProgram(this.program);
    this.buffers = { color: gl.createBuffer(), shape: gl.createBuffer(), chosen: gl.createBuffer() };
    this.places = new Map();
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, shuffledRows(), gl.STATIC_DRAW);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  setPlaces(key, places) {
    if (!this.places.has(key)) this.places.set(key, this.gl.createBuffer());
    this.fill(this.places.get(key), places);
  }

  setColors({ rgba, shape }) {
    this.fill(this.buffers.color, rgba);
    this.fill(this.buffers.shape, shape);
  }

  setChosen(chosen) {
    this.fill(this.buffers.chosen, chosen);
  }

  fill(buffer, values) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.DYNAMIC_DRAW);
  }

  attribute(name, buffer, n, type, normalized) {
    const { gl } = this;
    const location = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, n, type, normalized, 0, 0);
  }

  // Draws one space into the context of a panel, whose size is given in device pixels.
  draw(context, key, view) {
    const { gl } = this;
    const { width, height } = context.canvas;
    if (this.canvas.width < width || this.canvas.height < height) {
      this.canvas.width = Math.max(width, this.canvas.width);
      this.canvas.height = Math.max(height, this.canvas.height);
    }
    gl.viewport(0, this.canvas.height - height, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.attribute("place", this.places.get(key), 3, gl.FLOAT, false);
    this.attribute("color", this.buffers.color, 4, gl.UNSIGNED_BYTE, true);
    this.attribute("shape", this.buffers.shape, 1, gl.UNSIGNED_BYTE, false);
    this.attribute("chosen", this.buffers.chosen, 1, gl.UNSIGNED_BYTE, false);
    const uniform = (name) => gl.getUniformLocation(this.program, name);
    gl.uniform3fv(uniform("center"), view.center);
    gl.uniformMatrix3fv(uniform("turn"), false, view.turn);
    gl.uniform2f(uniform("scale"), (2 * view.scale[0]) / width, (2 * view.scale[1]) / height);
    gl.uniform1f(uniform("depth"), view.depth);
    gl.uniform1f(uniform("size"), view.size);
    gl.uniform1f(uniform("opacity"), view.opacity);
    gl.uniform4fv(uniform("rest"), [...theme().gray.map((part) => part / 255), 0.25]);
    gl.uniform1i(uniform("solid"), view.depth > 0 ? 1 : 0);
    for (const stage of view.isBrushed ? [0, 1] : [2]) {
      const isSolid = view.depth > 0 && stage > 0;
      if (isSolid) gl.enable(gl.DEPTH_TEST);
      else gl.disable(gl.DEPTH_TEST);
      gl.uniform1i(uniform("solid"), isSolid ? 1 : 0);
      gl.uniform1f(uniform("stage"), stage);
      gl.drawElements(gl.POINTS, N_ROWS, gl.UNSIGNED_INT, 0);
    }
    context.drawImage(this.canvas, 0, 0, width, height, 0, 0, width, height);
  }
}

// The same by hand, for machines without WebGL 2: squares written into the picture one by one.
class FlatPoints {
  constructor() {
    this.places = new Map();
    this.order = shuffledRows();
  }

  setPlaces(key, places) {
    this.places.set(key, places);
  }

  setColors({ rgba }) {
    this.rgba = rgba;
  }

  setChosen(chosen) {
    this.chosen = chosen;
  }

  draw(context, key, view) {
    const { width, height } = context.canvas;
    const picture = context.getImageData(0, 0, width, height);
    const side = Math.max(1, Math.round(0.8 * view.size));
    const { gray } = theme();
    for (const stage of view.isBrushed ? [0, 1] : [2]) {
      for (const i of this.order) {
        if (stage < 2 && this.chosen[i] !== stage) continue;
        const at = view.project(this.places.get(key), i);
        const color = stage === 0 ? gray : this.rgba.subarray(4 * i, 4 * i + 3);
        fillSquare(picture, Math.round(at[0] - side / 2), Math.round(at[1] - side / 2), stage === 0 ? 1 : side, color);
      }
    }
    context.putImageData(picture, 0, 0);
  }
}

function fillSquare(picture, left, top, side, color) {
  for (let y = Math.max(0, top); y < Math.min(picture.height, top + side); y += 1) {
    for (let x = Math.max(0, left); x < Math.min(picture.width, left + side); x += 1) {
      const place = 4 * (y * picture.width + x);
      picture.data[place] = color[0];
      picture.data[place + 1] = color[1];
      picture.data[place + 2] = color[2];
      picture.data[place + 3] = 255;
    }
  }
}

// Rows in an order that lets no group cover another, the same each time.
function shuffledRows() {
  const order = Uint32Array.from({ length: N_ROWS }, (_, i) => i);
  let state = 1;
  for (let i = N_ROWS - 1; i > 0; i -= 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 4294967296) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

function makePainter() {
  try {
    return new GlPoints();
  } catch (error) {
    document.getElementById("no-webgl").hidden = false;
    return new FlatPoints();
  }
}
