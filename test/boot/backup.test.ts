/** A dump becomes a database again. The soak restores an older one, too. */
import { testBackups } from './restored-backup.ts';

testBackups({ isOld: false });
