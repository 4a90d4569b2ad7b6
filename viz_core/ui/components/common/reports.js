/* What a component tells Python, and when. */

/* Return the cleanup function of one call of a component. Streamlit can run it after the next call has begun; `end` is
 * then skipped, so that it does not undo that call. view: the state that all calls for one element share. */
export const ending = (view, end) => {
  const call = {};
  view.call = call;
  return () => {
    if (view.call === call) end();
  };
};

/* Call `tell` after a pause. A further call of `later` for this view replaces it. If the user navigates to another link
 * meanwhile, `dropped` is called instead, since the report would change that link. */
export function later(view, pause, tell, dropped) {
  view.forget?.();
  const drop = () => {
    clearTimeout(view.timer);
    removeEventListener("popstate", left);
    view.timer = view.forget = null;
  };
  const left = () => {
    drop();
    dropped?.();
  };
  view.forget = drop;
  view.timer = setTimeout(() => {
    drop();
    tell();
  }, pause);
  addEventListener("popstate", left);
}

/* Send a numbered report after a pause. The number of a dropped report is used again. */
export function reportLater(view, pause, message) {
  const tell = () => {
    view.reported = message;
    view.report(message);
  };
  later(view, pause, tell, () => {
    view.number = view.reported?.number ?? 0;
  });
}
