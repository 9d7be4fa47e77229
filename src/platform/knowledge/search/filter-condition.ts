/** An attribute filter as a condition of SQL. Keys and values travel as parameters alone. */
import { json } from '../../../kernel/db/values.ts';
import type { AttributeFilter } from './attribute-filter.ts';

/** Values of a statement that is put together in parts; `add` returns the parameter's place in the text. */
export class StatementValues {
  readonly list: unknown[] = [];

  add(value: unknown): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

const operators = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** True or false, never null, for each row: `attributes` is the jsonb column or null. */
export function filterCondition(filter: AttributeFilter, attributes: string, values: StatementValues): string {
  switch (filter.type) {
    case 'and':
    case 'or':
      return `(${filter.filters.map((each) => filterCondition(each, attributes, values)).join(` ${filter.type} `)})`;
    case 'eq':
      return `(${attributes}->${key(filter, values)} is not distinct from ${values.add(json(filter.value))}::jsonb)`;
    case 'ne':
      return `(${attributes}->${key(filter, values)} is distinct from ${values.add(json(filter.value))}::jsonb)`;
    case 'in':
    case 'nin': {
      const list = `${values.add(filter.value.map((item) => json(item)))}::jsonb[]`;
      return `((${attributes}->${key(filter, values)} = any(${list})) is ${filter.type === 'in' ? '' : 'not '}true)`;
    }
    default:
      return orderCondition(filter.value, operators[filter.type], `${attributes}`, key(filter, values), values);
  }
}

/** jsonb orders values of different types too, and strings by the database's locale: neither is wanted. */
function orderCondition(
  value: string | number | boolean,
  operator: string,
  attributes: string,
  name: string,
  values: StatementValues,
): string {
  const isType = `jsonb_typeof(${attributes}->${name}) = '${typeof value}'`;
  const compared =
    typeof value === 'string'
      ? `(${attributes}->>${name}) collate "C" ${operator} ${values.add(value)}::text`
      : `${attributes}->${name} ${operator} ${values.add(json(value))}::jsonb`;
  return `((${isType} and ${compared}) is true)`;
}

function key(filter: { readonly key: string }, values: StatementValues): string {
  return `${values.add(filter.key)}::text`;
}
