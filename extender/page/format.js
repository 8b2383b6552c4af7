// Amounts as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const count = (number) => whole.format(number);

/** 81920 is "80 GiB". */
export function memory(mebibytes) {
  if (mebibytes < 1024) return `${whole.format(mebibytes)} MiB`;
  if (mebibytes < 1024 * 1024) return `${tenths.format(mebibytes / 1024)} GiB`;
  return `${tenths.format(mebibytes / 1024 / 1024)} TiB`;
}

/** Thousandths of a card: 250 is "0.25 GPU". */
export const compute = (milli) => `${(milli / 1000).toLocaleString("en", { maximumFractionDigits: 3 })} GPU`;

export const ratio = (part, of) => (of > 0 ? part / of : 0);
export const percent = (part, of) => `${Math.round(100 * ratio(part, of))} %`;

/** inNumber(1, "card") is "card", that of 2 "cards". */
export const inNumber = (number, word) => `${word}${number === 1 ? "" : "s"}`;

/** plural(1, "card") is "1 card". */
export const plural = (number, word) => `${count(number)} ${inNumber(number, word)}`;

/** "gpu-2" before "gpu-10". */
export const byName = new Intl.Collator("en", { numeric: true }).compare;
