/* What is below the edge of the window is drawn when nothing else is to be done, so that a page answers at once. */

const AT_A_TIME = 12;

/** Appends what functions draw, some at a time; a page that was left draws no more. */
export function appendLater(parent, draws, signal) {
  const rest = [...draws];
  const next = () => {
    if (signal.aborted || !rest.length) return;
    parent.append(...rest.splice(0, AT_A_TIME).map((draw) => draw()).filter(Boolean));
    requestIdleCallback(next);
  };
  requestIdleCallback(next);
}
