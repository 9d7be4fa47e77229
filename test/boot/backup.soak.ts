/** A dump becomes a database again, also one that was made before words were restorable. */
import { testBackups } from './restored-backup.ts';

testBackups({ isOld: true });
