/** Words for the smith's own model: OpenAI's clients insist on a `model`. */
const OWN_MODEL: ReadonlySet<string> = new Set(['', 'default', 'ironcraft']);

/**
 * The model that the request puts in place of the smith's: `provider/model`, or the bare name of one known model.
 * Undefined: the smith's own. The engine refuses what it cannot run.
 */
export function chooseModel(model: string | null | undefined): string | undefined {
  return model == null || OWN_MODEL.has(model) ? undefined : model;
}
