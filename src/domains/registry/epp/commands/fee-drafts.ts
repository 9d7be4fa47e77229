/**
 * Checks in the drafts before RFC 8748, which registries still speak:
 *
 *   0.5 to 0.8   a `domain` for each name and command, with the name in `name`     answers alike
 *   0.9          an `object` for each, with the name in `objID`                    answers alike
 *   0.11         one command for all names of the check                            the name in `object`, as the domain mapping has it
 *
 * The command stands as a text beside its period, and each answer has a currency of its own.
 */
import { EppFault } from '../epp-fault.ts';
import { DOMAIN, feeDraftUri } from '../namespaces.ts';
import { childrenOf, element, elementsOf, findChild, findText, type XmlElement } from '../xml/element.ts';
import {
  type FeeAnswer,
  type FeeQuestion,
  findTotal,
  formatAmount,
  isFeeCommand,
  phaseAttributes,
  readPhaseAttributes,
} from './fee-values.ts';
import { findYears, optional, requireChild, requireText, yearsElement } from './values.ts';

const OBJECT_URI = feeDraftUri('0.9');
const ONE_COMMAND_URI = feeDraftUri('0.11');

/** 0.5 to 0.9. */
export function objectsElement({ uri, currency, commands }: FeeQuestion, names: readonly string[]): XmlElement {
  const fee = elementsOf(uri);
  const isObject = uri === OBJECT_URI;
  const asked = names.flatMap((name) => commands.map((command) => ({ name, command })));
  return fee(
    'check',
    asked.map(({ name, command }) =>
      fee(
        isObject ? 'object' : 'domain',
        [
          isObject ? fee('objID', name, { element: 'name' }) : fee('name', name),
          optional(uri, 'currency', currency),
          fee('command', command.name, phaseAttributes(command)),
          yearsElement(uri, command.years),
        ],
        isObject ? { objURI: DOMAIN } : {},
      ),
    ),
  );
}

/** What is asked of any name is asked of each. */
export function readObjects(check: XmlElement): FeeQuestion {
  const objects = childrenOf(check, check.uri === OBJECT_URI ? 'object' : 'domain');
  const commands = objects.flatMap(askedIn);
  return {
    uri: check.uri,
    currency: objects.map((object) => findText(object, 'currency')).find((currency) => currency !== undefined),
    commands: commands.filter(
      ({ name, years }, index) => commands.findIndex((other) => other.name === name && other.years === years) === index,
    ),
  };
}

/** 0.11. */
export function oneCommandElement({ uri, currency, commands }: FeeQuestion): XmlElement {
  const [command] = commands;
  if (command === undefined || commands.length > 1) throw new EppFault(2306, 'fee-0.11 asks for one command at a time');
  return element(uri, 'check', [
    element(uri, 'command', command.name, phaseAttributes(command)),
    optional(uri, 'currency', currency),
    yearsElement(uri, command.years),
  ]);
}

export function readOneCommand(check: XmlElement): FeeQuestion {
  return { uri: check.uri, currency: findText(check, 'currency'), commands: askedIn(check) };
}

/** A command that has no fee here is left out. */
function commandsIn(parent: XmlElement): FeeQuestion['commands'] {
  const name = requireText(parent, 'command');
  if (!isFeeCommand(name)) return [];
  const years = findYears(parent);
  return [{ name, ...(years === undefined ? {} : { years }) }];
}

function askedIn(parent: XmlElement): FeeQuestion['commands'] {
  const phase = readPhaseAttributes(requireChild(parent, 'command').attributes);
  return commandsIn(parent).map((command) => ({ ...command, ...phase }));
}

export function draftAnswersElement(uri: string, currency: string, answers: readonly FeeAnswer[]): XmlElement {
  const fee = elementsOf(uri);
  const isOneCommand = uri === ONE_COMMAND_URI;
  const items = answers.flatMap(({ name, category, commands }) =>
    commands.map((answer) => {
      const { years, amountCents } = answer;
      const command = fee('command', answer.name, phaseAttributes(answer));
      return fee(
        'cd',
        [
          nameElement(uri, name),
          ...(isOneCommand ? [command, fee('currency', currency)] : [fee('currency', currency), command]),
          yearsElement(uri, years),
          amountCents === undefined ? undefined : fee('fee', formatAmount(amountCents)),
          optional(uri, 'class', category),
          isOneCommand && amountCents === undefined ? fee('reason', 'not available') : undefined,
        ],
        isOneCommand ? { avail: amountCents === undefined ? '0' : '1' } : {},
      );
    }),
  );
  return fee('chkData', items);
}

function nameElement(uri: string, name: string): XmlElement {
  if (uri === ONE_COMMAND_URI) return element(uri, 'object', [element(DOMAIN, 'name', name)]);
  return element(uri, uri === OBJECT_URI ? 'objID' : 'name', name);
}

/** One answer a name, in the order in which they first come. */
export function readDraftAnswers(data: XmlElement): FeeAnswer[] {
  const answers = new Map<string, FeeAnswer>();
  for (const item of childrenOf(data, 'cd')) {
    const name = nameIn(item);
    const category = findText(item, 'class');
    const before = answers.get(name)?.commands ?? [];
    answers.set(name, {
      name,
      ...(category === undefined ? answers.get(name) : { category }),
      commands: [...before, ...answerIn(item)],
    });
  }
  return [...answers.values()];
}

/** Registries of 0.11 are known that name it as 0.9 does. */
function nameIn(item: XmlElement): string {
  const object = findChild(item, 'object');
  const name =
    object === undefined
      ? requireText(item, findChild(item, 'objID') === undefined ? 'name' : 'objID')
      : requireChild(object, 'name', DOMAIN).text.trim();
  return name.toLowerCase();
}

function answerIn(item: XmlElement): FeeAnswer['commands'] {
  const currency = findText(item, 'currency');
  const amountCents = findTotal(item);
  return commandsIn(item).map((command) => ({
    ...command,
    ...(amountCents === undefined ? {} : { amountCents }),
    ...(currency === undefined ? {} : { currency }),
  }));
}
