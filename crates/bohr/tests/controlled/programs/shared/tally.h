#ifdef __cplusplus
extern "C" {
#endif
void tally_add(int amount);
int tally_total(void);
#ifdef __cplusplus
}
#endif
