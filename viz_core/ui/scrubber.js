/* A range input, its label above and the step's title below. While it is dragged it follows the hand; the step is sent when it is let go, or at
 * each arrow key. */

const held = new WeakMap(); // mounted component → whether its input is being dragged

export default function ({ data, parentElement, setTriggerValue }) {
  const label = parentElement.querySelector("label"), input = parentElement.querySelector("input");
  label.textContent = data.label;
  parentElement.querySelector("h5").textContent = data.title;
  input.max = data.most;
  input.hidden = data.most < 2;
  input.setAttribute("aria-valuetext", data.label);
  if (!held.get(parentElement)) input.value = data.value;
  input.onpointerdown = () => held.set(parentElement, true);
  input.onpointerup = () => held.set(parentElement, false);
  input.oninput = () => (label.textContent = `Step ${input.value} of ${data.most}`);
  input.onchange = () => {
    held.set(parentElement, false);
    setTriggerValue("move", Number(input.value));
  };
  input.onkeydown = (event) => { // returns nothing: a false would keep Tab and every other key from its work
    if (event.key.startsWith("Arrow")) event.stopPropagation(); // the page's keys walk, too
  };
}
