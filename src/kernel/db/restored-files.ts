/** Files of a store in memory, there before it is opened: the ones that `dump` put into a tar. */
import { MemoryFS } from '@electric-sql/pglite';
import { readTar } from './tar.ts';

/** Where PGlite looks for its store. */
const DATA_FOLDER = '/pglite/data';

/**
 * PGlite's own `loadDataDir` copies every file three times and looks each folder of its path up anew, a quarter of all that opening
 * a store in memory computes. Here the files are views of the tar, which is this store's alone: what is written to is changed in it.
 */
export class RestoredFiles extends MemoryFS {
  readonly #tar: Uint8Array;

  constructor(tar: Uint8Array) {
    super();
    this.#tar = tar;
  }

  override async initialSyncFs(): Promise<void> {
    const files = this.pg?.Module.FS;
    if (files === undefined) throw new Error('PGlite has no file system yet');
    files.mkdirTree(DATA_FOLDER, 0o700);
    for (const { path, content } of readTar(this.#tar)) {
      if (content === undefined) files.mkdir(DATA_FOLDER + path, 0o700);
      else files.writeFile(DATA_FOLDER + path, content, { canOwn: true });
    }
  }
}
