// Lays out the report of an explain page outside a browser and prints what must hold, as JSON.
'use strict';
const fs = require('fs'), vm = require('vm');
const page = fs.readFileSync(process.argv[2], 'utf8');
const script = id => page.match(new RegExp(`<script[^>]*id="${id}">([\\s\\S]*?)</script>`))[1];
const context = vm.createContext({ report: JSON.parse(script('report')) });
vm.runInContext(script('layout'), context);
const start = Date.now();
const drawing = vm.runInContext('layoutGraph(report)', context);
const layers = new Map();
for (const box of drawing.boxes) layers.set(box.layer, [...(layers.get(box.layer) || []), box]);
let overlaps = 0;
for (const layer of layers.values()) {
  layer.sort((a, b) => a.x - b.x);
  for (let i = 1; i < layer.length; ++i) overlaps += layer[i].x - layer[i].w / 2 < layer[i - 1].x + layer[i - 1].w / 2;
}
console.log(JSON.stringify({
  milliseconds: Date.now() - start,
  boxes: drawing.boxes.length,
  edges: drawing.edges.length,
  upward: drawing.edges.filter(edge => edge.to.layer <= edge.from.layer).length,
  unplaced: drawing.boxes.filter(box => !Number.isFinite(box.x) || !Number.isFinite(box.y)).length,
  alone: drawing.boxes.filter(box => box.kind === 'node' && !box.into.length && !box.outof.length).length,
  overlaps,
}));
