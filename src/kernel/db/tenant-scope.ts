/**
 * Adds the tenant to a query's tree, just before it becomes SQL:
 *
 *   from t, using t, update t, delete from t   and t.project_id = $value in WHERE
 *   inner and left join t                      and t.project_id = $value in ON, which leaves outer rows alone
 *   insert into t                              the column and its value in every row
 *   on conflict do update                      and t.project_id = $value in its WHERE
 *   subqueries, CTEs, set operations           the same inside
 *
 * Existing conditions are put in parentheses first: a raw `a or b` would else escape the `and`. Predicates rather than
 * filtered subqueries, because FOR UPDATE on a subquery locks rows before the outer conditions choose among them.
 */
import {
  AliasNode,
  AndNode,
  BinaryOperationNode,
  ColumnNode,
  type CommonTableExpressionNode,
  type DeleteQueryNode,
  IdentifierNode,
  type InsertQueryNode,
  type JoinNode,
  OnNode,
  type OperationNode,
  OperationNodeTransformer,
  OperatorNode,
  ParensNode,
  QueryNode,
  type RawNode,
  ReferenceNode,
  type RootOperationNode,
  type SelectQueryNode,
  TableNode,
  type UpdateQueryNode,
  ValueNode,
  WhereNode,
  type WithNode,
} from 'kysely';
import { checkRawExpression, checkRawTable, TenantScopeError } from './raw-sql-guard.ts';
import { addTenantColumn } from './tenant-insert.ts';

export interface TenantScopeOptions {
  /** The column that every tenant table has. */
  readonly column: string;
  readonly value: string;
  /** The tables that may be used; any other is refused, so that a new table cannot be forgotten. */
  readonly tables: ReadonlySet<string>;
  /** The schema that the tables are in, which queries leave out. Default: the database's own. */
  readonly schema?: string;
}

const scopedStatements: ReadonlySet<string> = new Set([
  'SelectQueryNode',
  'InsertQueryNode',
  'UpdateQueryNode',
  'DeleteQueryNode',
]);

/** Where a table's name may stand: where the statements below scope it, or where it only refers to a row in scope. */
const tablePlaces: ReadonlySet<string> = new Set([
  'FromNode',
  'UsingNode',
  'JoinNode',
  'AliasNode',
  'InsertQueryNode',
  'UpdateQueryNode',
  'ReferenceNode',
  'SelectModifierNode',
  'FunctionNode',
  'AggregateFunctionNode',
  'CommonTableExpressionNameNode',
]);

/** Where an alias of a table may stand. Elsewhere an alias names a value. */
const aliasPlaces: ReadonlySet<string> = new Set([
  'FromNode',
  'UsingNode',
  'JoinNode',
  'InsertQueryNode',
  'UpdateQueryNode',
]);

const joinsWithCondition: ReadonlySet<string> = new Set([
  'InnerJoin',
  'LeftJoin',
  'LateralInnerJoin',
  'LateralLeftJoin',
]);
const joinsWithoutCondition: ReadonlySet<string> = new Set(['CrossJoin', 'LateralCrossJoin']);

export class TenantScope {
  readonly #options: TenantScopeOptions;

  constructor(options: TenantScopeOptions) {
    this.#options = options;
  }

  /** The same statement, for one tenant. Throws TenantScopeError for what cannot be scoped. */
  apply<T extends RootOperationNode>(node: T): T {
    if (!scopedStatements.has(node.kind)) {
      const what = node.kind === 'RawNode' ? 'a statement of raw SQL' : node.kind.replace(/Node$/, '');
      throw new TenantScopeError(`${what} cannot be scoped to a tenant: use the query builder, or unscoped()`);
    }
    return new ScopeTransformer(this.#options).transformNode(node);
  }
}

class ScopeTransformer extends OperationNodeTransformer {
  readonly #options: TenantScopeOptions;
  /** Names that WITH has given so far: they mean scoped results, not tables. */
  readonly #names: string[] = [];

  constructor(options: TenantScopeOptions) {
    super();
    this.#options = options;
  }

  protected override transformNodeImpl<T extends OperationNode>(node: T): T {
    if (node.kind === 'MergeQueryNode') throw new TenantScopeError('merge cannot be scoped: use insert … on conflict');
    if (!scopedStatements.has(node.kind)) return super.transformNodeImpl(node);
    // WITH first, whatever the order of the tree's members: its names must be known, and only inside this statement.
    const known = this.#names.length;
    const named = this.transformNode(withOf(node));
    const statement = super.transformNodeImpl({ ...node, with: undefined });
    this.#names.length = known;
    return named === undefined ? statement : { ...statement, with: named };
  }

  protected override transformWith(node: WithNode): WithNode {
    if (node.recursive === true) for (const expression of node.expressions) this.#addName(expression);
    const expressions = node.expressions.map((expression) => {
      const transformed = this.transformNode(expression);
      if (node.recursive !== true) this.#addName(expression);
      return transformed;
    });
    return { ...node, expressions };
  }

  protected override transformSelectQuery(node: SelectQueryNode): SelectQueryNode {
    const predicates = this.#predicatesOf([...(node.from?.froms ?? []), ...crossJoined(node.joins)]);
    return withPredicates(super.transformSelectQuery(node), predicates);
  }

  protected override transformUpdateQuery(node: UpdateQueryNode): UpdateQueryNode {
    this.#refuseTenantColumn(node.updates?.map(({ column }) => column));
    const tables = [...(node.table === undefined ? [] : [node.table]), ...(node.from?.froms ?? [])];
    const predicates = this.#predicatesOf([...tables, ...crossJoined(node.joins)]);
    return withPredicates(super.transformUpdateQuery(node), predicates);
  }

  protected override transformDeleteQuery(node: DeleteQueryNode): DeleteQueryNode {
    const tables = [...node.from.froms, ...(node.using?.tables ?? [])];
    const predicates = this.#predicatesOf([...tables, ...crossJoined(node.joins)]);
    return withPredicates(super.transformDeleteQuery(node), predicates);
  }

  protected override transformInsertQuery(node: InsertQueryNode): InsertQueryNode {
    const [target] = this.#predicatesOf(node.into === undefined ? [] : [node.into]);
    if (target === undefined) throw new TenantScopeError('an insert needs a table');
    this.#refuseTenantColumn(node.columns);
    this.#refuseTenantColumn(node.onConflict?.updates?.map(({ column }) => column));
    const { column, value } = this.#options;
    const insert = addTenantColumn(super.transformInsertQuery(node), column, value);
    const conflict = insert.onConflict;
    if (conflict?.updates === undefined) return insert;
    return { ...insert, onConflict: { ...conflict, updateWhere: conjoin(conflict.updateWhere, [target]) } };
  }

  protected override transformJoin(node: JoinNode): JoinNode {
    const join = super.transformJoin(node);
    if (joinsWithoutCondition.has(node.joinType)) return join;
    if (!joinsWithCondition.has(node.joinType)) {
      throw new TenantScopeError(`${node.joinType} cannot be scoped: turn it into a left join`);
    }
    const [predicate] = this.#predicatesOf([node.table]);
    if (predicate === undefined) return join;
    const on = join.on === undefined ? predicate : AndNode.create(ParensNode.create(join.on.on), predicate);
    return { ...join, on: OnNode.create(on) };
  }

  protected override transformTable(node: TableNode): TableNode {
    const place = this.nodeStack.at(-2)?.kind;
    if (place === undefined || !tablePlaces.has(place)) {
      throw new TenantScopeError(
        `the table ${tableName(node)} stands where it cannot be scoped: select from it instead`,
      );
    }
    return super.transformTable(node);
  }

  protected override transformAlias(node: AliasNode): AliasNode {
    const place = this.nodeStack.at(-2)?.kind;
    if (TableNode.is(node.node) && (place === undefined || !aliasPlaces.has(place))) {
      throw new TenantScopeError(`the table ${tableName(node.node)} stands where it cannot be scoped`);
    }
    return super.transformAlias(node);
  }

  protected override transformRaw(node: RawNode): RawNode {
    checkRawExpression(node.sqlFragments);
    return super.transformRaw(node);
  }

  /** One predicate for each item that is a table; other items (subqueries, calls, names of WITH) are scoped inside. */
  #predicatesOf(items: readonly OperationNode[]): OperationNode[] {
    const predicates: OperationNode[] = [];
    for (const item of items) {
      const source = AliasNode.is(item) ? item.node : item;
      const alias = AliasNode.is(item) && IdentifierNode.is(item.alias) ? item.alias.name : undefined;
      switch (source.kind) {
        case 'TableNode':
          if (!TableNode.is(source)) break;
          if (AliasNode.is(item) && alias === undefined) throw new TenantScopeError('a table’s alias must be a name');
          if (this.#isTenantTable(source)) predicates.push(this.#predicate(alias ?? tableName(source)));
          break;
        case 'RawNode':
          checkRawTable((source as RawNode).sqlFragments);
          break;
        case 'SelectQueryNode':
        case 'FunctionNode':
        case 'ValuesNode':
        case 'ParensNode':
          break;
        default:
          throw new TenantScopeError(`${source.kind} in the place of a table cannot be scoped`);
      }
    }
    return predicates;
  }

  #isTenantTable(table: TableNode): boolean {
    const name = tableName(table);
    if (table.table.schema !== undefined && table.table.schema.name !== this.#options.schema) {
      throw new TenantScopeError(`${table.table.schema.name}.${name}: name tenant tables without a schema`);
    }
    if (this.#names.includes(name)) return false;
    if (this.#options.tables.has(name)) return true;
    throw new TenantScopeError(
      `${name} is not a tenant table: list it among the tenant tables if its rows belong to one, or use unscoped()`,
    );
  }

  #predicate(table: string): OperationNode {
    const column = ReferenceNode.create(ColumnNode.create(this.#options.column), TableNode.create(table));
    return BinaryOperationNode.create(column, OperatorNode.create('='), ValueNode.create(this.#options.value));
  }

  #addName(expression: CommonTableExpressionNode): void {
    const name = tableName(expression.name.table);
    if (this.#options.tables.has(name)) throw new TenantScopeError(`WITH ${name} hides the table: choose another name`);
    this.#names.push(name);
  }

  #refuseTenantColumn(columns: readonly OperationNode[] | undefined): void {
    for (const column of columns ?? []) {
      if (columnName(column) !== this.#options.column) continue;
      throw new TenantScopeError(`${this.#options.column} is the scope's to set: leave it out`);
    }
  }
}

function withOf(node: OperationNode): WithNode | undefined {
  return QueryNode.is(node) ? node.with : undefined;
}

function tableName(node: TableNode): string {
  return node.table.identifier.name;
}

function columnName(node: OperationNode): string | undefined {
  if (ColumnNode.is(node)) return node.column.name;
  if (ReferenceNode.is(node) && ColumnNode.is(node.column)) return columnName(node.column);
  return undefined;
}

/** Tables of joins that have no condition to add to; as in an inner join, WHERE does as well. */
function crossJoined(joins: readonly JoinNode[] | undefined): OperationNode[] {
  return (joins ?? []).filter(({ joinType }) => joinsWithoutCondition.has(joinType)).map(({ table }) => table);
}

function withPredicates<T extends { readonly where?: WhereNode }>(query: T, predicates: readonly OperationNode[]): T {
  if (predicates.length === 0) return query;
  return { ...query, where: conjoin(query.where, predicates) };
}

function conjoin(where: WhereNode | undefined, predicates: readonly OperationNode[]): WhereNode {
  const conditions = where === undefined ? predicates : [...predicates, ParensNode.create(where.where)];
  return WhereNode.create(conditions.reduce((left, right) => AndNode.create(left, right)));
}
