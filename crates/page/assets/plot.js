// A line plot of the last minutes: two series over time, scaled to the highest value.
import { h, rate } from "./dom.js";

const POINTS = 120;

/** Creates a plot. `push` adds the next values: received and transmitted bits per second. */
export function plot(name) {
  const canvas = h("canvas", { role: "img", "aria-label": `Traffic of ${name}` });
  const series = [[], []];
  const draw = () => {
    const box = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1;
    if (!box.width) return;
    canvas.width = box.width * scale;
    canvas.height = box.height * scale;
    const style = getComputedStyle(canvas), context = canvas.getContext("2d");
    context.scale(scale, scale);
    const top = Math.max(1000, ...series.flat());
    const y = (value) => box.height - 3 - (value / top) * (box.height - 16);
    context.strokeStyle = style.getPropertyValue("--line");
    context.beginPath();
    context.moveTo(0, y(0));
    context.lineTo(box.width, y(0));
    context.stroke();
    context.fillStyle = style.getPropertyValue("--faint");
    context.font = "10px system-ui";
    context.fillText(rate(top), 2, 10);
    [["--rx", series[0]], ["--tx", series[1]]].forEach(([color, values]) => {
      context.strokeStyle = style.getPropertyValue(color);
      context.lineWidth = 1.5;
      context.beginPath();
      values.forEach((value, at) => {
        const x = box.width * (1 - (values.length - 1 - at) / (POINTS - 1));
        if (at) context.lineTo(x, y(value)); else context.moveTo(x, y(value));
      });
      context.stroke();
    });
    canvas.dataset.points = series[0].length;
  };
  const push = (rx, tx) => {
    [rx, tx].forEach((value, way) => {
      series[way].push(value);
      if (series[way].length > POINTS) series[way].shift();
    });
    canvas.setAttribute("aria-label", `Traffic of ${name}: ${rate(rx)} received, ${rate(tx)} transmitted`);
    draw();
  };
  return { canvas, push };
}
