import {
  AliasNode,
  ColumnNode,
  IdentifierNode,
  type InsertQueryNode,
  type OperationNode,
  PrimitiveValueListNode,
  SelectionNode,
  SelectQueryNode,
  ValueListNode,
  ValueNode,
  ValuesNode,
} from 'kysely';
import { TenantScopeError } from './raw-sql-guard.ts';

/** The insert with the tenant's column in every row, whichever form it has. Throws TenantScopeError. */
export function addTenantColumn(insert: InsertQueryNode, column: string, value: string): InsertQueryNode {
  const columns = [...(insert.columns ?? []), ColumnNode.create(column)];
  if (insert.defaultValues === true) {
    const { defaultValues: _none, ...rest } = insert;
    return { ...rest, columns, values: ValuesNode.create([PrimitiveValueListNode.create([value])]) };
  }
  if (insert.columns === undefined) {
    throw new TenantScopeError('an insert from a query must name its columns, so that the tenant’s can be added');
  }
  return { ...insert, columns, values: addValue(insert.values, column, value) };
}

function addValue(values: OperationNode | undefined, column: string, value: string): OperationNode {
  if (values !== undefined && ValuesNode.is(values)) {
    return ValuesNode.create(
      values.values.map((row) =>
        row.kind === 'ValueListNode'
          ? ValueListNode.create([...row.values, ValueNode.create(value)])
          : PrimitiveValueListNode.create([...row.values, value]),
      ),
    );
  }
  if (values !== undefined && SelectQueryNode.is(values)) {
    if (values.setOperations !== undefined) {
      throw new TenantScopeError('an insert from a union cannot be scoped: put the union into a subquery');
    }
    const selected = AliasNode.create(ValueNode.create(value), IdentifierNode.create(column));
    return SelectQueryNode.cloneWithSelections(values, [SelectionNode.create(selected)]);
  }
  throw new TenantScopeError('an insert takes its rows from values or from a select of the query builder');
}
