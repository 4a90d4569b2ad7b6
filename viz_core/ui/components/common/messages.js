/* Messages in the language of the page. Python collects their literal texts from the scripts; WORDS, which assets.py
 * puts in front, has the translations. */

/* Translate a literal message and fill in its fields; without values, braces are text. */
export const _ = (message, values) => fillFields(WORDS.forms[message]?.[0] ?? message, values);

export const plural = (one, many, n, values) =>
  fillFields(WORDS.forms[one]?.[WORDS.form(n)] ?? (n === 1 ? one : many), { n, ...values });

export const fillFields = (text, values) =>
  values ? text.replace(/\{(\w+)\}/g, (field, name) => values[name] ?? field) : text;

/* Fill a message with nodes, or lists of nodes and texts; returns the list to append to an element. */
export const nodes = (message, values) =>
  message.split(/(\{\w+\})/).flatMap((part) => values[part.match(/^\{(\w+)\}$/)?.[1]] ?? part);
