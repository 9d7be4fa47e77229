/** What is left to run, and which of it may begin now. */
import { availableParallelism } from 'node:os';
import { isHeavy, type Store, type Task } from './select-files.ts';

export class TaskQueue {
  readonly #waiting: Task[];
  readonly #underWay = new Set<Task>();
  readonly #maxHeavy: number;

  /** In the order in which to begin. At most `maxHeavy` heavy files are under way at once; default: as many as there are cores. */
  constructor(tasks: readonly Task[], maxHeavy = availableParallelism()) {
    this.#waiting = [...tasks];
    this.#maxHeavy = maxHeavy;
  }

  /**
   * The next task, or a later one where the next would be one heavy file too many, or is under way on the other store, for
   * a file may have a port of its own. Undefined where nothing may begin: what is left is for those who are at work now. Of a task that
   * is not `wanted` another takes care.
   */
  take(wanted: (task: Task) => boolean = () => true): Task | undefined {
    const heavy = [...this.#underWay].filter(({ file }) => isHeavy(file)).length;
    const files = new Set([...this.#underWay].map(({ file }) => file));
    const mayBegin = ({ file }: Task): boolean => !files.has(file) && (heavy < this.#maxHeavy || !isHeavy(file));
    const index = this.#waiting.findIndex((task) => wanted(task) && mayBegin(task));
    const [task] = index === -1 ? [] : this.#waiting.splice(index, 1);
    if (task !== undefined) this.#underWay.add(task);
    return task;
  }

  /** Whoever has taken a task says when it is through. */
  end(task: Task): void {
    this.#underWay.delete(task);
  }

  /** Whether anything on this store is left to take. */
  has(store: Store): boolean {
    return this.#waiting.some((task) => task.store === store);
  }
}
