/* Selectors of the app. */

export const LINKS = ":is(:--sidebar-link, :--top-link, :--page-link)"; // to other pages
export const CONNECTED = ":--connected"; // what the element of the app says of the server
export const IDLE = ":--idle"; // the same when no run is in progress

/* Return the name of the attribute that a selector reads. */
export const attributeIn = (selector) => selector.match(/[\w-]+/)[0];
