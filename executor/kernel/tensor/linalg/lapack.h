/* The LAPACK routines that are used, as OpenBLAS has them (netlib.org/lapack): column-major, everything by pointer. */
#ifndef KERNEL_TENSOR_LAPACK_H
#define KERNEL_TENSOR_LAPACK_H

void
dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work, const int *lwork, int *info);
void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau, double *work,
             const int *lwork, int *info);
void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda, double *s, double *u,
             const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork, int *iwork, int *info);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
void dgetrs_(const char *trans, const int *n, const int *nrhs, const double *a, const int *lda, const int *pivots,
             double *b, const int *ldb, int *info);
void dgetri_(const int *n, double *a, const int *lda, const int *pivots, double *work, const int *lwork, int *info);
void dtrtrs_(const char *uplo, const char *trans, const char *diag, const int *n, const int *nrhs, const double *a,
             const int *lda, double *b, const int *ldb, int *info);
void dgelsd_(const int *m, const int *n, const int *nrhs, double *a, const int *lda, double *b, const int *ldb,
             double *s, const double *rcond, int *rank, double *work, const int *lwork, int *iwork, int *info);
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
             const int *lwork, int *iwork, const int *liwork, int *info);
void dgeev_(const char *jobvl, const char *jobvr, const int *n, double *a, const int *lda, double *wr, double *wi,
            double *vl, const int *ldvl, double *vr, const int *ldvr, double *work, const int *lwork, int *info);

/* Complex numbers are two doubles. */
void zgeev_(const char *jobvl, const char *jobvr, const int *n, double *a, const int *lda, double *w, double *vl,
            const int *ldvl, double *vr, const int *ldvr, double *work, const int *lwork, double *rwork, int *info);
void zheevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
             const int *lwork, double *rwork, const int *lrwork, int *iwork, const int *liwork, int *info);
void zpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void zgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
void zgetrs_(const char *trans, const int *n, const int *nrhs, const double *a, const int *lda, const int *pivots,
             double *b, const int *ldb, int *info);
void zgetri_(const int *n, double *a, const int *lda, const int *pivots, double *work, const int *lwork, int *info);

#endif
