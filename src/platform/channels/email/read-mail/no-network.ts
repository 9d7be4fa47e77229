/**
 * Stands for the modules of the network in the process that reads mail, which has none: a library that asks for them when it is
 * loaded uses nothing but this of them, as its look-ups are the parent's.
 */
export const promises = {};

export function isIP(text: string): 0 | 4 | 6 {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return 4;
  return /^[\da-f]*:[\da-f:.]*$/i.test(text) ? 6 : 0;
}
