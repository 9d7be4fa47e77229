/** The subschemas of a schema and what each applies to the same value: keywords and references, by a walk without recursion. */
import type { JsonObject } from '../tables.ts';
import { Place } from './schema-problem.ts';

export interface SchemaNode {
  readonly schema: JsonObject;
  readonly place: Place;
  /** Subschemas that are applied to the very value that this one is applied to, one entry a mention. */
  readonly appliesHere: SchemaNode[];
}

/** Where a keyword's subschemas are, and whether they apply to the same value or to its members and items. */
interface Keyword {
  readonly form: 'one' | 'list' | 'map' | 'one or list';
  readonly here: boolean;
}
const here = (form: Keyword['form']): Keyword => ({ form, here: true });
const inside = (form: Keyword['form']): Keyword => ({ form, here: false });
const KEYWORDS: ReadonlyMap<string, Keyword> = new Map([
  ['allOf', here('list')],
  ['anyOf', here('list')],
  ['oneOf', here('list')],
  ['not', here('one')],
  ['if', here('one')],
  ['then', here('one')],
  ['else', here('one')],
  ['dependentSchemas', here('map')],
  ['dependencies', here('map')],
  ['properties', inside('map')],
  ['patternProperties', inside('map')],
  ['additionalProperties', inside('one')],
  ['unevaluatedProperties', inside('one')],
  ['propertyNames', inside('one')],
  ['items', inside('one or list')],
  ['prefixItems', inside('list')],
  ['additionalItems', inside('one')],
  ['unevaluatedItems', inside('one')],
  ['contains', inside('one')],
  ['contentSchema', inside('one')],
  ['$defs', inside('map')],
  ['definitions', inside('map')],
]);
const REFERENCES: ReadonlySet<string> = new Set(['$ref', '$dynamicRef', '$recursiveRef']);

/** Every subschema once, the root first. References that lead nowhere are left to whoever compiles the schema. */
export function findSchemaNodes(root: JsonObject): SchemaNode[] {
  return new GraphBuilder(root).build();
}

/** A part of the schema with an `$id` of its own, from which its references are read; or the whole. */
interface Resource {
  readonly root: JsonObject;
  readonly place: Place;
  readonly uri: string;
  readonly anchors: Map<string, SchemaNode>;
}

interface Reference {
  readonly from: SchemaNode;
  readonly to: string;
  readonly keyword: string;
  readonly resource: Resource;
}

class GraphBuilder {
  readonly #root: JsonObject;
  readonly #nodes: SchemaNode[] = [];
  readonly #known = new Map<object, SchemaNode>();
  readonly #resources = new Map<string, Resource>();
  readonly #dynamicAnchors = new Map<string, SchemaNode[]>();
  readonly #references: Reference[] = [];
  readonly #open: { readonly node: SchemaNode; readonly resource: Resource }[] = [];

  constructor(root: JsonObject) {
    this.#root = root;
  }

  build(): SchemaNode[] {
    const place = new Place();
    const whole = { root: this.#root, place, uri: NO_URI, anchors: new Map() };
    this.#resources.set(NO_URI, whole);
    this.#add(this.#root, place, whole);
    // What a reference leads to may be no subschema by its place, and have references of its own.
    for (let resolved = 0; ; ) {
      for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) {
        this.#readKeywords(next.node, next.resource);
      }
      const reference = this.#references[resolved++];
      if (reference === undefined) return this.#nodes;
      reference.from.appliesHere.push(...this.#resolve(reference));
    }
  }

  #add(schema: JsonObject, place: Place, around: Resource): SchemaNode {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    const node = { schema, place, appliesHere: [] };
    this.#known.set(schema, node);
    this.#nodes.push(node);
    const { $id, $anchor, $dynamicAnchor } = schema;
    let resource = around;
    if (typeof $id === 'string' && !$id.startsWith('#')) {
      resource = { root: schema, place, uri: resolveUri($id, around.uri), anchors: new Map() };
      this.#resources.set(resource.uri, resource);
    }
    const named = typeof $id === 'string' && $id.startsWith('#') ? $id.slice(1) : undefined;
    for (const name of [$anchor, $dynamicAnchor, named]) if (typeof name === 'string') resource.anchors.set(name, node);
    if (typeof $dynamicAnchor === 'string') {
      const same = this.#dynamicAnchors.get($dynamicAnchor);
      if (same === undefined) this.#dynamicAnchors.set($dynamicAnchor, [node]);
      else same.push(node);
    }
    this.#open.push({ node, resource });
    return node;
  }

  #readKeywords(node: SchemaNode, resource: Resource): void {
    for (const [name, value] of Object.entries(node.schema)) {
      if (typeof value === 'string' && REFERENCES.has(name)) {
        this.#references.push({ from: node, to: value, keyword: name, resource });
      }
      const keyword = value === null || typeof value !== 'object' ? undefined : KEYWORDS.get(name);
      if (keyword === undefined) continue;
      const { form } = keyword;
      const place = node.place.at(name);
      if (Array.isArray(value)) {
        if (form === 'one' || form === 'map') continue;
        for (const [index, item] of value.entries()) this.#link(node, item, place.at(index), resource, keyword);
      } else if (form === 'map') {
        for (const [key, member] of Object.entries(Object(value))) {
          this.#link(node, member, place.at(key), resource, keyword);
        }
      } else if (form !== 'list') {
        this.#link(node, value, place, resource, keyword);
      }
    }
  }

  #link(from: SchemaNode, value: unknown, place: Place, resource: Resource, keyword: Keyword): void {
    if (!isObject(value)) return;
    const node = this.#add(value, place, resource);
    if (keyword.here) from.appliesHere.push(node);
  }

  #resolve({ to, keyword, resource }: Reference): SchemaNode[] {
    const hash = to.indexOf('#');
    const fragment = hash < 0 ? '' : decode(to.slice(hash + 1));
    if (keyword === '$dynamicRef') {
      const same = this.#dynamicAnchors.get(fragment);
      if (same !== undefined) return same;
    }
    const uri = hash < 0 ? to : to.slice(0, hash);
    const target = uri === '' ? resource : this.#resources.get(resolveUri(uri, resource.uri));
    if (target === undefined) return [];
    if (fragment !== '' && !fragment.startsWith('/'))
      return [target.anchors.get(fragment)].filter((each) => each !== undefined);
    const steps = readSteps(fragment);
    const found = follow(target.root, steps);
    if (found === undefined) return [];
    // Most lead to subschemas that have been met: a place is made for others alone.
    return [this.#known.get(found) ?? this.#add(found, placeInside(target.place, steps), target)];
  }
}

/** Of a schema without an `$id`. */
const NO_URI = 'schema:/';

function resolveUri(uri: string, base: string): string {
  const resolved = URL.parse(uri, base);
  if (resolved === null) return uri;
  resolved.hash = '';
  return resolved.href;
}

function decode(fragment: string): string {
  if (!fragment.includes('%')) return fragment;
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function placeInside(place: Place, steps: readonly string[]): Place {
  return steps.reduce((at, step) => at.at(step), place);
}

/** The names in a JSON pointer. */
function readSteps(pointer: string): string[] {
  const steps = pointer.split('/');
  steps.shift();
  return pointer.includes('~') ? steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')) : steps;
}

/** The object that these steps lead to. */
function follow(root: JsonObject, steps: readonly string[]): JsonObject | undefined {
  let place: unknown = root;
  for (const name of steps) {
    if (place === null || typeof place !== 'object' || !Object.hasOwn(place, name)) return undefined;
    place = Reflect.get(place, name);
  }
  return isObject(place) ? place : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
