/* Draw content below the visible part of the page when the browser is idle, so that the page responds at once. */

const AT_A_TIME = 12;

/** Call drawing functions and append their results in batches, until the user leaves the page. */
export function appendLater(parent, draws, signal) {
  const rest = [...draws];
  const next = () => {
    if (signal.aborted || !rest.length) return;
    parent.append(...rest.splice(0, AT_A_TIME).map((draw) => draw()).filter(Boolean));
    requestIdleCallback(next);
  };
  requestIdleCallback(next);
}
