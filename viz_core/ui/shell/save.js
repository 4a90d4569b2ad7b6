/* The Save menu of every picture. */

export default function ({ data, setStateValue }) {
  const [header, buffer, start] = unpack(data);
  globalThis.labSaved = header.reply && { ...header.reply, bytes: buffer.slice(start) };
  globalThis.labAsk = (ask) => setStateValue("ask", ask);
}
