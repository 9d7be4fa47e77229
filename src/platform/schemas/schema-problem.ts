/** Why a schema is not taken, and where in it: a JSON pointer, empty for the whole. */
export interface SchemaProblem {
  readonly pointer: string;
  /** Goes on after “a schema”: `with more than 90 levels …`, `that takes longer …`. */
  readonly problem: string;
}

/** A place in a schema, of which the pointer is written only when somebody asks for it. */
export class Place {
  readonly #parent: Place | undefined;
  readonly #step: string | number;

  constructor(parent?: Place, step: string | number = '') {
    this.#parent = parent;
    this.#step = step;
  }

  /** Of a member or an item. */
  at(step: string | number): Place {
    return new Place(this, step);
  }

  /** As a JSON pointer. */
  toString(): string {
    const steps: string[] = [];
    for (let place: Place = this; place.#parent !== undefined; place = place.#parent) {
      steps.push(String(place.#step).replaceAll('~', '~0').replaceAll('/', '~1'));
    }
    return steps
      .reverse()
      .map((step) => `/${step}`)
      .join('');
  }
}

/** As it is shown in messages; long ones are cut. */
export function showPointer(pointer: string): string {
  const shown = pointer.length <= SHOWN_CHARS ? pointer : `${pointer.slice(0, SHOWN_CHARS).toWellFormed()}…`;
  return pointer === '' ? 'at its root' : `at \`${shown}\``;
}

const SHOWN_CHARS = 300;
