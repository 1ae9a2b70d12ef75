// Chips can be dragged from one axis to another. Each drop follows a link of the chip's own menu, so
// what dragging can do the menu can do too.

class Axes extends HTMLElement {
  connectedCallback() {
    this.addEventListener("pointerdown", (event) => this.#take(event));
  }

  #take(event) {
    const chip = event.target.closest(".chip:not(.only) > summary")?.parentElement;
    if (!chip || event.button) return;
    const begin = [event.clientX, event.clientY];
    let moving = false;
    const axes = [...this.querySelectorAll(".axis:not([data-axis=only])")];
    const over = (at) => axes.find((axis) => within(axis.getBoundingClientRect(), at));
    const move = (at) => {
      moving ||= Math.hypot(at.clientX - begin[0], at.clientY - begin[1]) > 6;
      if (moving) for (const axis of axes) axis.classList.toggle("over", axis === over(at));
    };
    const drop = (at) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", drop);
      removeEventListener("pointercancel", drop);
      for (const axis of axes) axis.classList.remove("over");
      const axis = moving && at.type === "pointerup" && over(at);
      if (!moving) return;
      const key = { rows: "R", columns: "C", layers: "L" }[axis?.dataset?.axis];
      chip.querySelector(`a[data-key="${key}"]`)?.click();
      // the click that ends a drag opens no menu
      const still = (click) => click.preventDefault();
      addEventListener("click", still, { capture: true, once: true });
      setTimeout(() => removeEventListener("click", still, { capture: true }), 80);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", drop);
    addEventListener("pointercancel", drop);
  }
}

function within(box, at) {
  return at.clientX >= box.left && at.clientX <= box.right && at.clientY >= box.top && at.clientY <= box.bottom;
}

customElements.define("d-axes", Axes);
