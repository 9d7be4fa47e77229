import { testScenarios, walletScenarios } from './domains-scenarios.ts';

testScenarios(walletScenarios);
