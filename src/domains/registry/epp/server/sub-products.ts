/** One server in front of several registries (namestoreExt): a command says for which one it is, and its answer too. */
import { isAboutObject, type ObjectCommand } from '../commands/command.ts';
import { subProductElement, subProductErrorElement } from '../commands/name-store.ts';
import { type Answer, agreedExtensions, type CommandContext } from './answers.ts';

export async function answerForSubProduct(
  context: CommandContext,
  command: ObjectCommand,
  answer: () => Promise<Answer>,
): Promise<Answer> {
  const { subProducts } = context.habits;
  if (subProducts === undefined || !isAboutObject(command)) return answer();
  const fault = faultOf(command, subProducts);
  if (fault !== undefined) {
    const extensions = agreedExtensions(context, [subProductErrorElement(fault)]);
    return { code: 2306, reason: 'namestoreExt: the command is for none of the registries here', extensions };
  }
  const answered = await answer();
  const product = command.subProduct === undefined ? undefined : subProductElement(command.subProduct);
  return { ...answered, extensions: [...(answered.extensions ?? []), ...agreedExtensions(context, [product])] };
}

/** Undefined: it names the registry that its names are in, or for hosts and contacts any of them. */
function faultOf(command: ObjectCommand, subProducts: Readonly<Record<string, string>>): string | undefined {
  const { subProduct } = command;
  if (subProduct === undefined) return 'NameStore Extension not provided';
  if (!Object.values(subProducts).includes(subProduct)) return 'Specified sub-product does not exist';
  const isElsewhere = namesIn(command).some((name) => subProducts[name.slice(name.indexOf('.') + 1)] !== subProduct);
  return isElsewhere ? 'Specified sub-product does not have the name' : undefined;
}

function namesIn(command: ObjectCommand): readonly string[] {
  if (!command.kind.startsWith('domain:')) return [];
  return 'names' in command ? command.names : 'name' in command ? [command.name] : [];
}
